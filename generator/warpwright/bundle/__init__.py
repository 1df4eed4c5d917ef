"""Bundles: built variants packed for a GPU host without this toolchain, and their results brought back.

packed = make_bundle(Path("out/quickstart"), None, Path("bundle"), validate={...}, bench={...})
# on the GPU host: python3 bundle/run.py
imported = import_results(Path("results.jsonl"), Path("out"))
"""

from warpwright.bundle.pack import Packed, make_bundle
from warpwright.bundle.results import Imported, import_results, record_result

__all__ = ["Imported", "Packed", "import_results", "make_bundle", "record_result"]
