"""Makes the wheel of the package (PEP 517): pure Python needs no more than an archive with a few words about itself."""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    return project


def _about(project: dict[str, Any]) -> dict[str, str]:
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        f"License: {project['license']['text']}",
    ]
    for extra, requirements in project["optional-dependencies"].items():
        metadata.append(f"Provides-Extra: {extra}")
        metadata += [f"Requires-Dist: {one} ; extra == '{extra}'" for one in requirements]
    wheel = ["Wheel-Version: 1.0", "Generator: build_wheel_here", "Root-Is-Purelib: true", "Tag: py3-none-any"]
    return {"METADATA": "\n".join(metadata) + "\n", "WHEEL": "\n".join(wheel) + "\n"}


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    files = {f"booblik/{path.name}": path.read_bytes() for path in sorted((HERE / "booblik").iterdir()) if path.is_file()}
    files |= {f"{info}/{name}": text.encode() for name, text in _about(project).items()}
    record = ""
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(content)}\n"
            archive.writestr(path, content)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    raise NotImplementedError("only wheels are made here: pip wheel ./conformance/python")
