"""Rule expand_cases: a pack of templates, fillings and groups -> instances."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.families.counterfactual.expansion import expand_in_parts
from biasgrid.families.counterfactual.reading import read_pack
from biasgrid.provenance import provenance
from biasgrid.table_files import write_table_in_parts
from biasgrid.tables.instances import CASES

pack = read_pack(snakemake.params.files)
facts = provenance(snakemake.config, code=snakemake.params.code, word_lists=pack.digest())
write_table_in_parts(expand_in_parts(pack), snakemake.output[0], CASES, facts)
