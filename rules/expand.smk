rule expand:
    input:
        # Empty if all subjects are kept.
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
        # Lists and tokenizer may move: digests of their content run the rule again.
        source=not_compared(cells.tokenizer_source),
        files=not_compared(cells.word_list_files),
        rerun_lists=cells.word_lists_digest,
        code=inputs.code_of_family("expand", "expand"),
    script:
        "../workflow/scripts/expand.py"
