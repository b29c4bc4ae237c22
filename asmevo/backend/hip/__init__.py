"""Runs compiled kernels on an AMD GPU through hip-python, in a child process that may hang or die.

`device.run` is the door; everything that touches the driver is behind it, in the child.
"""
