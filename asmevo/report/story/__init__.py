"""What a search did, told from its lineage: the curve, the tree, each edit with its evidence, where the cycles went.

`telling.story` gathers it as plain data; `text` and `page` show that. Nothing here judges or searches.
"""
