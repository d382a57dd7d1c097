"""English words that say little by themselves, which no co-occurrence is counted of."""

STOP_WORDS = frozenset(
    (
        # Articles and other determiners.
        "a an the this that these those some any each every all both few many more most much other another such no own "
        # Pronouns.
        "i me my mine myself we us our ours ourselves you your yours yourself yourselves it its itself they them their "
        "theirs themselves he him his himself she her hers herself who whom whose which what "
        # Prepositions and conjunctions.
        "of in on at by for with about against between into through during before after above below to from up down "
        "out off over under again and or but nor so yet if because as until while than then once since although "
        # Auxiliaries, negations and what is left of contractions.
        "am is are was were be been being have has had having do does did doing will would shall should can could may "
        "might must not n't 's 'm 're 've 'd 'll s t d m re ve ll "
        # Adverbs of place, time, degree and manner without more content.
        "here there when where why how only just too very also now ever never still even"
    ).split()
)
