/* Logs of many servers' formats: their detection, the client, the end of a request that the time
 * belongs to, and the warnings about files that fit by accident. */
#include "import_run.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct import_run import_text(const char *format, const char *text,
                                     const char *const *settings)
{
    struct import_run run =
        import_run(format, temporary_file("recording.txt", text, strlen(text)), settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    return run;
}

static void assert_says(const struct import_run *run, const char *text)
{
    if (strstr(run->report, text) == NULL) {
        fail_msg("'%s' is not in '%s'", text, run->report);
    }
}

/* Ticks of 1 s, a request timeout of 5 s, an idle timeout of 60 s. */
#define SECONDS "tick-ns", "1000000000"

static void each_server_has_its_format(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        const char *first; /* the report of the first record */
        const char *operations;
    } cases[] = {
        /* Apache: the client, and the virtual host before it. */
        {"192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 17\n",
         "key '192.0.2.1' at 2015-05-17 10:05:03.000000 UTC",
         "0,1,start,5\n0,1,stop\n0,0,start,60\n"},
        {"www.example.com:443 192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200\n"
         "www.example.com:443 2001:db8::2 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" "
         "200\n",
         "key '192.0.2.1' at",
         "0,2,start,5\n0,2,stop\n0,0,start,60\n0,2,start,5\n0,2,stop\n0,1,start,60\n"},
        {"www.example.com 192.0.2.1 - bob [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200\n",
         "key '192.0.2.1' at", "0,1,start,5\n0,1,stop\n0,0,start,60\n"},
        /* Squid, padded: from 6.599 s to 8.779. */
        {"1286536308.779   2180 192.0.2.7 TCP_MISS/200 411 GET http://a/ - DIRECT/1.2.3.4 text\n",
         "key '192.0.2.7' at 2010-10-08 11:11:48.779000 UTC: a request, begun before then, with a "
         "timeout of 5 s, over after 2.18 s",
         "0,1,start,6\n2,1,stop\n2,0,start,61\n"},
        /* HAProxy, with and without syslog, IPv4 and IPv6, HTTP and TCP. */
        {"Feb  6 12:14:14 localhost haproxy[14389]: 192.0.2.2:33317 [06/Feb/2009:12:14:14.655] in "
         "static/srv1 10/0/30/69/2109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /\"\n",
         "key '192.0.2.2' at 2009-02-06 12:14:14.655000 UTC: a request, begun then, with a timeout "
         "of 5 s, over after 2.109 s",
         "0,1,start,6\n0,0,start,61\n2,1,stop\n"},
        {"2001:db8::1:33317 [06/Feb/2009:12:14:14.000] in static/srv1 0/0/+7000 212 -- 0/0/0 0/0\n",
         "key '2001:db8::1' at 2009-02-06 12:14:14.000000 UTC: a request, begun then, with a "
         "timeout of 5 s, over after 7 s",
         "0,1,start,5\n0,0,start,60\n"},
        /* W3C: Microsoft's milliseconds, at the end; and seconds of others, with a date above. */
        {"#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n"
         "#Fields: date time s-ip cs-method c-ip cs(User-Agent) sc-status time-taken\n"
         "2019-01-15 10:11:12 10.0.0.1 GET 192.0.2.4 Mozilla/5.0 200 2000\n",
         "key '192.0.2.4' at 2019-01-15 10:11:12.000000 UTC: a request, begun before then, with a "
         "timeout of 5 s, over after 2 s",
         "0,1,start,5\n2,1,stop\n2,0,start,60\n"},
        {"#Version: 1.0\n#Date: 2019-01-15 00:00:00\n#Fields: time\tc-ip time-taken\n"
         "10:11:12\t192.0.2.4\t2\n",
         "key '192.0.2.4' at 2019-01-15 10:11:12.000000 UTC",
         "0,1,start,5\n2,1,stop\n2,0,start,60\n"},
        /* AWS: three times add up. */
        {"https 2018-07-02T22:23:00.000000Z app/lb/1 192.0.2.5:2817 10.0.0.1:80 0.5 1.25 0.25 200 "
         "200 34 366 \"GET https://a:443/ HTTP/1.1\" \"curl\"\n",
         "key '192.0.2.5' at 2018-07-02 22:23:00.000000 UTC: a request, begun before then, with a "
         "timeout of 5 s, over after 2 s",
         "0,1,start,5\n2,1,stop\n2,0,start,60\n"},
        /* Envoy, as text and as JSON: milliseconds from the beginning. */
        {"[2016-04-15T20:17:00.000Z] \"POST /api HTTP/2\" 204 - 154 0 2000 100 \"192.0.2.6\" "
         "\"x\"\n",
         "key '192.0.2.6' at 2016-04-15 20:17:00.000000 UTC: a request, begun then, with a timeout "
         "of 5 s, over after 2 s",
         "0,1,start,5\n0,0,start,60\n2,1,stop\n"},
        {"{\"duration\":2000,\"start_time\":\"2016-04-15T20:17:00.000Z\","
         "\"downstream_remote_address\":\"[2001:db8::6]:55\"}\n",
         "key '2001:db8::6' at 2016-04-15 20:17:00.000000 UTC: a request, begun then",
         "0,1,start,5\n0,0,start,60\n2,1,stop\n"},
        /* Caddy: seconds before the end. Traefik: nanoseconds from the beginning. */
        {"{\"level\":\"info\",\"ts\":1646861402.0,\"request\":{\"remote_ip\":\"192.0.2.1\","
         "\"headers\":{}},\"duration\":2.0}\n",
         "key '192.0.2.1' at 2022-03-09 21:30:02.000000 UTC: a request, begun before then, with a "
         "timeout of 5 s, over after 2 s",
         "0,1,start,5\n2,1,stop\n2,0,start,60\n"},
        {"{\"ClientHost\":\"192.0.2.8\",\"Duration\":2000000000,"
         "\"StartUTC\":\"2020-01-02T03:04:05Z\",\"time\":\"2020-01-02T03:04:07Z\"}\n",
         "key '192.0.2.8' at 2020-01-02 03:04:05.000000 UTC: a request, begun then",
         "0,1,start,5\n0,0,start,60\n2,1,stop\n"},
    };
    const char *const settings[] = {"request-timeout", "5", SECONDS, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run = import_text("access-log", cases[i].log, settings);
        assert_says(&run, cases[i].first);
        char *operations = import_run_operations(&run);
        assert_string_equal(operations, cases[i].operations);
        free(operations);
        import_run_free(&run);
    }
}

static void formats_have_names(void **state)
{
    (void)state;
    static const char log[] = "a 192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET /\"\n";
    struct import_run run =
        import_text("access-log", log, (const char *const[]){"log-format", "vhost", SECONDS, NULL});
    assert_says(&run, "key '192.0.2.1' at");
    assert_string_equal(json_string_value(json_object_get(run.origin, "log_format")), "vhost");
    import_run_free(&run);
    run = import_text("access-log", log,
                      (const char *const[]){"log-format", "common", SECONDS, NULL});
    assert_says(&run, "key 'a' at");
    import_run_free(&run);
    /* Which end the time is can be said: 2 s before, or from then on. */
    static const char took[] = "192.0.2.1 1000 2\n";
    run = import_text("access-log", took,
                      (const char *const[]){"log-format", "%h %{sec}t %T", "request-timeout", "5",
                                            "time-is", "end", SECONDS, NULL});
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,1,start,5\n2,1,stop\n2,0,start,60\n");
    free(operations);
    import_run_free(&run);
    /* Times in Apache's own words; the last field ends at a blank. */
    run = import_text("access-log", "2015-05-17 10:05:03.250 x 192.0.2.1 and more\n",
                      (const char *const[]){"log-format", "%{%Y-%m-%d %T}t %u %h", NULL});
    assert_says(&run, "key '192.0.2.1' at 2015-05-17 10:05:03.250000 UTC");
    import_run_free(&run);
}

static void tables_of_many_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        const char *settings[12];
        const char *operations;
    } cases[] = {
        /* Date and time in two columns; other words for dates. */
        {"Date,Time,who\n2017-05-16,00:00:01.5,a\n2017-05-16,00:00:03,b\n",
         {"time", "Date,Time", "key", "who", SECONDS},
         "0,0,start,61\n2,1,start,60\n"},
        {"d;t;who\n16.05.2017;00:00:01;a\n16.05.2017;00:00:03;b\n",
         {"time", "d,t", "time-format", "%d.%m.%Y %H:%M:%S", "key", "who", SECONDS},
         "0,0,start,60\n2,1,start,60\n"},
        {"at,who\nMay 16 2017 12:00:01.250 AM +0200,a\nMay 16 2017 12:00:03.000 AM +0200,b\n",
         {"time", "at", "time-format", "%b %d %Y %I:%M:%S %p %z", "key", "who", SECONDS},
         "0,0,start,61\n2,1,start,60\n"},
        /* Without a header. */
        {"1,a\n3,b\n", {"time", "1", "key", "2", SECONDS}, "0,0,start,60\n2,1,start,60\n"},
        {"  1   a x\n  3   b\n",
         {"time", "1", "key", "2", SECONDS},
         "0,0,start,60\n2,1,start,60\n"},
        /* SWF: job 2 runs for 2 of 5 s; job 3's requested time is not known; job 1's is over. */
        {"; Version: 2.2\n 1 0 0 9 1 -1 -1 1 5 -1 1 7 1 1 1 1 -1 -1\n"
         " 2 3 0 2 1 -1 -1 1 5 -1 1 7 1 1 1 1 -1 -1\n 3 4 0 2 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n",
         {"time", "submit", "duration", "run", "timeout-column", "requested_time", SECONDS},
         "0,0,start,5\n3,1,start,5\n5,1,stop\n"},
        /* JSON, a path for each field. */
        {"{\"t\":1,\"a\":{\"b\":[{\"c\":\"x\"}]}}\n{\"t\":\"3\",\"a\":{\"b\":[{\"c\":7}]}}\n",
         {"time", "t", "key", "a.b.0.c", SECONDS},
         "0,0,start,60\n2,1,start,60\n"},
        {"{\"a.t\":1,\"k\":\"x\"}\n", {"time", "a.t", "key", "k", SECONDS}, "0,0,start,60\n"},
        /* The time of a request's end. */
        {"app,end_timestamp,duration\nx,12,2\n",
         {"time", "end_timestamp", "duration", "duration", "time-is", "end", SECONDS},
         "0,0,start,5\n2,0,stop\n"},
        /* A time to live of each row's own; 0: none. k1 is due at 61 s, then at 90. */
        {"t,k,op,ttl\n0,k1,get,0\n0,k2,set,86400\n1,k1,set,60\n30,k1,set,60\n31,k3,add,0\n"
         "40,k2,delete,0\n95,k1,get,0\n",
         {"time", "t", "key", "k", "timeout-column", "ttl", "op", "op", SECONDS},
         "0,0,start,86400\n1,1,start,60\n30,1,start,60\n40,0,stop\n"},
        {"t,k,ttl\n0,k1,0\n0,k2,100\n1,k1,60\n95,k1,0\n",
         {"time", "t", "key", "k", "timeout-column", "ttl", SECONDS},
         "0,0,start,100\n1,1,start,60\n"},
        {"t,k,ttl\n0,k1,1500\n",
         {"time", "t", "key", "k", "timeout-column", "ttl", "timeout-unit", "ms", SECONDS},
         "0,0,start,2\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run = import_text("events", cases[i].table, cases[i].settings);
        char *operations = import_run_operations(&run);
        assert_string_equal(operations, cases[i].operations);
        free(operations);
        import_run_free(&run);
    }
    /* The end of the last row is the trace's: k1 expires in it. */
    struct import_run run = import_text("events", cases[10].table, cases[10].settings);
    assert_int_equal(run.header.end_tick, 96);
    import_run_free(&run);
}

static void units_are_hinted_at(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        const char *hint;
    } cases[] = {
        {"ts,k\n1557745385123,a\n", "looks like milliseconds, --time-unit ms"},
        {"ts,k\n1557745385123456,a\n", "looks like microseconds, --time-unit us"},
        {"ts,k\n1557745385123456789,a\n", "looks like nanoseconds, --time-unit ns"},
        {"{\"ts\":1557745385123,\"k\":\"a\"}\n", "looks like milliseconds, --time-unit ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run = import_run(
            "events", temporary_file("recording.txt", cases[i].table, strlen(cases[i].table)),
            (const char *const[]){"key", "k", NULL});
        assert_int_equal(run.result, IMPORT_FAILED);
        assert_non_null(strstr(run.error.text, cases[i].hint));
        import_run_free(&run);
    }
}

static void accidents_are_told(void **state)
{
    (void)state;
    /* Eleven lines of one key, and one of another. */
    char table[1024] = "ts,host,client,ttl\n";
    for (int i = 0; i < 12; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "%d.5,%s,client %d,%d\n", i, i < 11 ? "www" : "ftp", i,
                       i % 2);
        (void)strcat(table, line);
    }
    struct import_run run =
        import_text("events", table, (const char *const[]){"key", "host", NULL});
    assert_says(&run, "warning: ");
    assert_says(&run, "nearly all of its 12 events have the key 'www'");
    import_run_free(&run);
    run = import_text("events", table, (const char *const[]){"key", "client", NULL});
    assert_says(&run, "12 keys contain blanks, such as 'client 0'");
    assert_null(strstr(run.report, "nearly all"));
    import_run_free(&run);
    run = import_text("events", table,
                      (const char *const[]){"key", "host", "timeout-column", "ttl", NULL});
    assert_says(&run, "6 of 12 lines are dropped");
    import_run_free(&run);
    run = import_text("events", "start_end,took\n1.5,1\n",
                      (const char *const[]){"time", "start_end", "duration", "took", NULL});
    assert_says(&run, "give --time-is end, or --time-is start");
    import_run_free(&run);
    run = import_text("events", "ts,k,op,delay\n1,a,start,5\n3,a,stop,\n",
                      (const char *const[]){"key", "k", "op", "op", NULL});
    assert_says(&run, "its times are whole seconds");
    import_run_free(&run);
    run = import_text("events", "ts,k\n1.5,a\n2.5,b\n", (const char *const[]){"key", "k", NULL});
    assert_null(strstr(run.report, "warning: "));
    import_run_free(&run);
}

static void options_that_do_not_go_together(void **state)
{
    (void)state;
    static const struct {
        const char *settings[10];
        const char *why;
    } cases[] = {
        {{"key", "k", "time-format", "%Q"}, "--time-format %Q: not a format of strptime(3)"},
        {{"key", "k", "time-format", "%s"}, "seconds since 1970 are --time-unit s"},
        {{"key", "k", "time-is", "end"}, "--time-is belongs to --duration"},
        {{"duration", "d", "time-is", "middle"}, "--time-is middle: not start or end"},
        {{"key", "k", "timeout-unit", "s"}, "--timeout-unit belongs to --timeout-column"},
        {{"key", "k", "op", "o", "delay", "d", "timeout-column", "t"},
         "--delay, --delay-unit and --slack do not go together"},
        {{"timeout-column", "t"}, "--key is needed"},
        {{"key", "k", "time", "a,b,c"}, "--time a,b,c: more than 2 fields"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run =
            import_run("events", temporary_file("recording.txt", "ts\n", 3), cases[i].settings);
        assert_int_equal(run.result, IMPORT_USAGE);
        if (strstr(run.error.text, cases[i].why) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].why, run.error.text);
        }
        import_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_has_its_format),
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(tables_of_many_kinds),
        cmocka_unit_test(units_are_hinted_at),
        cmocka_unit_test(accidents_are_told),
        cmocka_unit_test(options_that_do_not_go_together),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
