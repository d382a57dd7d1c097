rule expand:
    input:
        tokenizer=tokenizer_of_variant,
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
        family=family_of_dataset,
        source=source_of_filter,
        files=files_of_variant,
        lists=digest_of_lists,
        code=code_of_family("expand", "expand"),
    script:
        "../workflow/scripts/expand.py"
