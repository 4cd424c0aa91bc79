# sweep.gp: one column of the results against a knob of a sweep, a panel for each value of another. See
# style.gp for the data. Columns: series style, and those that the settings
# name: ns_per_event, stall_ns, bytes_per_timer or start_p99_ns and the like; the knob on the axis; the knob of the panels.
what = setting_1; x_knob = setting_2; panel_knob = setting_3
knob(name) = name[3:*]
panel_column = panel_knob
is_latency = what eq "stall_ns" || what[strlen(what) - 6:*] eq "_p99_ns"
# A knob that was not turned needs no naming.
heading(name) = words(panels) > 1 ? headed(knob(panel_knob)." = ".name) : ""
value = what; spread = what eq "ns_per_event" ? "ns_per_event_mad" : ""
x_label = knob(x_knob)
y_label = what eq "ns_per_event" ? "ns per event" : what eq "stall_ns" ? "longest advance" \
    : is_latency ? what[:strlen(what) - 7].", 99th percentile" : "bytes per timer"
x_tics = SCALED_TICS
y_tics = is_latency ? DURATION_TICS : PLAIN_TICS
# An axis with a 0 is linear.
stats data using x_knob nooutput
linear_x = STATS_min <= 0 || STATS_max / STATS_min < 5
x_low = linear_x ? STATS_min - 0.05 * (STATS_max - STATS_min) : STATS_min / 1.5
x_high = linear_x ? STATS_max + 0.05 * (STATS_max - STATS_min) : STATS_max * 1.5
x_of(dummy) = column(x_knob)
if (linear_x) { x_tics = "autofreq format '%g'" }
shared_y = 1
said(dummy) = (is_latency ? duration(column(value)) : digits(column(value)) \
    .(what eq "ns_per_event" ? " ns per event" : " bytes per timer")) \
    .sprintf(", %s = %g, %s = %s", knob(x_knob), column(x_knob), knob(panel_knob), strcol(panel_knob))
load FOLDER."lines.gp"
