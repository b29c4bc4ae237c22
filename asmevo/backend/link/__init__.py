"""A linker for one relocatable AMDGPU object: what a compiler's -c or the assembler leaves becomes a loadable code object.

`link` is the entry. The package must not know what an instruction or a kernel is, and it makes no second layout of linked
objects: those are changed by the writer only.

Source: LLVM AMDGPUUsage, "Code Object", "Relocation Records"; System V ABI, "Dynamic Linking"; the layout that lld gives.
"""

from asmevo.backend.link.link import link as link
