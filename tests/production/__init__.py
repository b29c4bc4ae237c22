"""Production kernels of AITER on the emulator, against NumPy references.

One module a family: argument layout, inputs and expected results of its kernels. The objects are not part of this repository:
they are read from the folder that ASMEVO_CORPUS names.
"""
