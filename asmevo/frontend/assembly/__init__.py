"""Hand-written and compiled assembly sources: what the assembler does before and around instructions.

Reads symbols, expressions, macros, conditionals, includes, sections, data, descriptor blocks and metadata. A single
instruction's line is read by `frontend.line`; `module.parse_module` is the entry.
"""
