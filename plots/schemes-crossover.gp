# schemes-crossover.gp: what a timer costs in the paper's schemes 6 and 7, from START to START, against
# its mean interval T over the table size M; a panel for each unit. See style.gp for the data.
# Columns: series style unit ratio per_timer per_timer_mad. The settings say where the schemes
# cross, in touches, steps, instructions and nanoseconds.
panel_column = "unit"
heading(name) = name eq "touches" ? "Touches of a waiting timer, ".setting_1 \
    : name eq "steps" ? "Steps a timer, ".setting_2 \
    : name eq "vax" ? "Instructions of a VAX a timer, ".setting_3 \
    : "Nanoseconds a timer, ".setting_4
x_column = "ratio"
value = "per_timer"; spread = "per_timer_mad"
x_label = "mean interval T / table size M"
y_label = ""
x_tics = "('1/8' 0.125, '1/4' 0.25, '1/2' 0.5, '1' 1, '2' 2, '4' 4, '8' 8, '16' 16, '32' 32)"
y_tics = PLAIN_TICS
said(dummy) = digits(column(value))." with T/M ".digits(column("ratio"))
load FOLDER."lines.gp"
