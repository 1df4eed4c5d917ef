"""Templates and configurations are found in a checkout and in an installed wheel, under the same names."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright import resources


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package: data inside it, no pyproject.toml beside it."""
    package = tmp_path / "site-packages" / "warpwright"
    (package / "_data" / "configs").mkdir(parents=True)
    (package / "_data" / "templates").mkdir()
    (package / "_data" / "configs" / "quickstart.yaml").touch()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    monkeypatch.setattr(resources, "_DATA", package / "_data")
    return package


def test_checkout_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (resources.templates() / "gemm").is_dir()
    assert resources.resolve_config("quickstart") == resources.configs() / "quickstart.yaml"
    assert resources.resolve_config("quickstart.yaml").is_file()
    assert resources.resolve_config("configs/quickstart.yaml").is_file()


def test_wheel_brings_its_own(wheel: Path) -> None:
    assert resources.checkout() is None
    assert resources.templates() == wheel / "_data" / "templates"
    assert resources.resolve_config("quickstart") == wheel / "_data" / "configs" / "quickstart.yaml"


def test_a_shipped_configuration_has_one_name_wherever_it_lies(wheel: Path) -> None:
    assert resources.config_label(resources.configs() / "quickstart.yaml") == "configs/quickstart.yaml"


def test_ones_own_configuration_goes_by_its_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert resources.config_label(tmp_path / "mine.yaml") == "mine.yaml"
    assert resources.config_label(Path("mine.yaml")) == "mine.yaml"


def test_ones_own_file_comes_before_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart.yaml").touch()
    assert resources.resolve_config("quickstart.yaml") == Path("quickstart.yaml")
    assert resources.resolve_config("elsewhere/quickstart.yaml") == Path("elsewhere/quickstart.yaml")
