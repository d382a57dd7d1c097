#!/bin/sh
# Snakemake runs this in the new environment of biasgrid.yaml, in the folder that it works in: the repository.
set -e
test -f constraints.txt || {
    echo "there is no constraints.txt here; run snakemake --sdm conda in the repository's folder" >&2
    exit 1
}
# As with make, TORCH_INDEX names where builds of torch are beside PyPI's.
python -m pip install --constraint constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} --editable .
