#!/bin/sh
# Snakemake runs this in the new environment of biasgrid.yaml, in the folder that it works in: the repository.
set -e
test -f constraints.txt || {
    echo "there is no constraints.txt here; run snakemake --sdm conda in the repository's folder" >&2
    exit 1
}
python -m pip install --constraint constraints.txt --editable .
