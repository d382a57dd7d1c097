rule expand:
    input:
        tokenizer=cells.tokenizer_record,
    output:
        layout.instances(),
    log:
        layout.log("expand", "{dataset}", "{variant}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        family=inputs.family,
        source=cells.tokenizer_source,
        files=cells.word_lists,
        lists=cells.word_lists_digest,
        code=inputs.code_of_family("expand", "expand"),
    script:
        "../workflow/scripts/expand.py"
