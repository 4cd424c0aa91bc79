# The completion of bash finds the words.
set -g __timerlab_completion (status dirname)/../../bash-completion/completions/timerlab
complete -c timerlab -f -a '(bash $__timerlab_completion (commandline -cp) 2>/dev/null)'
