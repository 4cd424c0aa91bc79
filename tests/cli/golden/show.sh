# shellcheck shell=bash
# Steps of a script, in a wheel of wheels and in a heap; from an argument, a file and standard input alike.
try show hier-wheel:slots=3 'start b 4; advance 3; tick'
printf '# one timer\nstart b +4 ; advance 3\n\nwake # at 4\n' >script
timerlab show hier-wheel:slots=3 'start b 4; advance 3; tick' >argument
timerlab show hier-wheel:slots=3 -f script | diff argument -
timerlab show hier-wheel:slots=3 -f - <script | diff argument -
try show binary-heap --clock 7 'start a 9; start b 8; stop c; start b +3'
