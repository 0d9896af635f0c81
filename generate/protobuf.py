"""Turn the files in proto into src/magnetar/proto."""

import re
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent

# The files are registered under this path in protobuf's process-wide table of descriptors, where
# the plain name PulsarApi.proto may already be taken by another package.
VIRTUAL = "magnetar/proto"
NAMES = ("PulsarApi", "BookKeeper", "BookKeeperV3", "ManagedLedger", "Schemas", "Markers")


def main() -> None:
    arguments = [
        "protoc",
        f"--proto_path={VIRTUAL}={ROOT / 'proto'}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--python_out={ROOT / 'src'}",
        f"--pyi_out={ROOT / 'src'}",
        *(f"{VIRTUAL}/{name}.proto" for name in NAMES),
    ]
    if protoc.main(arguments):
        sys.exit("protoc refused a file in proto; what it wrote above says which, and where")
    for name in NAMES:
        code = ROOT / "src" / VIRTUAL / f"{name}_pb2.py"
        code.write_text(without_version_check(code.read_text()))
        stub = code.with_suffix(".pyi")
        # mypy --strict wants to know what a mapping maps.
        stub.write_text(stub.read_text().replace("_Mapping]", "_Mapping[str, object]]"))


def without_version_check(text: str) -> str:
    """Drop the demand for the newest protobuf: all that follows is data that older ones read too.

    Without this, whoever regenerates would force every user onto their own version of protobuf.
    """
    text = text.replace("from google.protobuf import runtime_version as _runtime_version\n", "")
    text, cut = re.subn(
        r"_runtime_version\.ValidateProtobufRuntimeVersion\(.*?\n\)\n", "", text, flags=re.DOTALL
    )
    assert cut == 1, "protoc writes its version check differently now: adapt this function"
    return text


if __name__ == "__main__":
    main()
