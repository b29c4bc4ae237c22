from asmevo.backend.hip.state import device_state


def test_what_the_driver_shows_is_read(tmp_path):
    folder = tmp_path / "0000:c1:00.0"
    (folder / "ras").mkdir(parents=True)
    (folder / "pp_dpm_sclk").write_text("0: 132Mhz\n1: 2100Mhz *\n")
    (folder / "pp_dpm_mclk").write_text("0: 900Mhz\n1: 1300Mhz *\n")
    (folder / "ras" / "umc_err_count").write_text("ue: 0\nce: 4\n")
    assert device_state("0000:c1:00.0", tmp_path) == {
        "clock_mhz_now": 2100,
        "memory_clock_mhz_now": 1300,
        "memory_errors_uncorrected": 0,
        "memory_errors_corrected": 4,
    }


def test_what_is_not_there_is_left_out(tmp_path):
    (tmp_path / "0000:c1:00.0").mkdir()
    (tmp_path / "0000:c1:00.0" / "pp_dpm_sclk").write_bytes(b"\xff\xfe nothing known")
    assert device_state("0000:c1:00.0", tmp_path) == {}
    assert device_state("another", tmp_path) == {}
