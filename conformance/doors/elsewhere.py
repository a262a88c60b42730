"""The process of a driver in another environment: `PYTHON -P elsewhere.py NAME`, where fivepoint need not be installed.

A process that is spawned there imports this file again, before all else: it finds fivepoint, too.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if "fivepoint" not in sys.modules:
    root = Path(__file__).resolve().parents[2]
    spec = spec_from_file_location("fivepoint", root / "__init__.py", submodule_search_locations=[str(root)])
    assert spec is not None and spec.loader is not None
    sys.modules["fivepoint"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)

if __name__ == "__main__":
    from fivepoint.conformance.doors.host import main

    main()
