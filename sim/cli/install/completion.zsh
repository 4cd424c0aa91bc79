#compdef timerlab
# The completion of bash finds the words.
local -a found
found=(${(f)"$(bash "${functions_source[_timerlab]:h}/../../bash-completion/completions/timerlab" \
    "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)"})
compadd -S '' -- ${(M)found:#*=}
compadd -- ${found:#*=}
