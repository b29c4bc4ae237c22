"""A captured dispatch as a launch: read (`folder`), taken apart (`pieces`), written as a launch file (`text`).

`folder` knows the capture's files, `pieces` which bytes are pointers, `text` how a launch says it.
"""
