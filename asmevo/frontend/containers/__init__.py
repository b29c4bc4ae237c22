"""Whatever holds code objects: bundles, compressed bundles, host programs, archives, Triton's cache folders.

`open_inputs` finds every member, `select` chooses the one to work on, `replace_member` puts a changed one back. The package
must not know what is inside a code object beyond its ELF header.
"""

from asmevo.frontend.containers.member import Kind as Kind
from asmevo.frontend.containers.member import Member as Member
from asmevo.frontend.containers.opener import open_inputs as open_inputs
from asmevo.frontend.containers.replace import replace_member as replace_member
from asmevo.frontend.containers.select import select as select
from asmevo.frontend.containers.select import split_name as split_name
