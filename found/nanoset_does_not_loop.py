"""The datasets do not loop, and one file gives samples without a token beyond its end.

An index beyond the size gives an empty sample from DatatroveFileDataset, and an IndexError from DatatroveFolderDataset. Taking the index
modulo the size avoids it.

Clause: C1.3
Promised: "We loop on the dataset if asking for an index larger than the dataset size"
(https://github.com/huggingface/datatrove/blob/main/src/datatrove/utils/dataset.py)
Upstream: not found (searched 2026-12-01: "datatrove DatatroveFileDataset index larger than dataset size loop empty input_ids IndexError
DatatroveFolderDataset")
"""

import tempfile
from importlib.metadata import version

import numpy as np
from datatrove.utils.dataset import DatatroveFileDataset, DatatroveFolderDataset

with tempfile.TemporaryDirectory() as folder:
    np.arange(15, dtype=np.uint16).tofile(f"{folder}/data.ds")
    file = DatatroveFileDataset(f"{folder}/data.ds", seq_len=4)
    beyond = file[3]["input_ids"].tolist()
    try:
        whole = DatatroveFolderDataset(folder, seq_len=4)[3]["input_ids"].tolist()
    except IndexError as reason:
        whole = f"IndexError: {reason}"
print(f"datatrove {version('datatrove')}: expected sample 3 of 3 to be sample 0, {file[0]['input_ids'].tolist()}")
print(f"got {beyond} of the file, {whole} of the folder")
raise SystemExit(0 if beyond == [] and whole != file[0]["input_ids"].tolist() else 1)
