"""Objects and evidence for the tests of deployment; nothing there looks inside an object."""

import json
from hashlib import sha256

from support import EXAMPLES

OBJECTS = {path.name: path.read_bytes() for path in sorted((EXAMPLES / "kernels").glob("*.co"))}


def evidence_of(original, data, **changes):
    """What `optimize` writes beside an object, as far as a deployment reads it."""
    tree = {
        "k0_sha256": sha256(original).hexdigest(),
        "object_sha256": sha256(data).hexdigest(),
        "kernel": "k",
        "target": "gfx942",
        "cycles": {"before": 100.0, "after": 90.0},
        "steps": [{"verdict": "proved", "basis": [{"method": "z3"}]}],
    }
    return json.dumps({**tree, **changes})


def changed(data):
    """Another object of the same size; these tests never look inside."""
    return data[:-1] + bytes([data[-1] ^ 1])
