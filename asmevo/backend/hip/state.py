"""The clocks and memory errors of a GPU as the Linux driver shows them, so that a measured time says what it was measured on.

Source: the amdgpu driver's files in sysfs (`pp_dpm_sclk`, `pp_dpm_mclk`, `ras/umc_err_count`). What is not there is left out.
"""

from __future__ import annotations

import re
from pathlib import Path

_DEVICES = Path("/sys/bus/pci/devices")
_CURRENT = re.compile(r"^\s*\d+:\s*(\d+)\s*mhz\s*\*", re.IGNORECASE | re.MULTILINE)
_ERRORS = re.compile(r"^(ue|ce)\s*:\s*(\d+)", re.IGNORECASE | re.MULTILINE)


def device_state(pci: str, devices: Path = _DEVICES) -> dict[str, int]:
    """Current core and memory clock in MHz, and counts of uncorrected and corrected memory errors."""
    folder = devices / pci
    found: dict[str, int] = {}
    for key, name in (("clock_mhz_now", "pp_dpm_sclk"), ("memory_clock_mhz_now", "pp_dpm_mclk")):
        if match := _CURRENT.search(_text(folder / name)):
            found[key] = int(match[1])
    for kind, count in _ERRORS.findall(_text(folder / "ras" / "umc_err_count")):
        found[f"memory_errors_{'uncorrected' if kind.lower() == 'ue' else 'corrected'}"] = int(count)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:4096]
    except OSError:
        # The file is not there for this chip, driver or user: the state is then not known, and nothing is said of it.
        return ""
