-- The steps of `lease` as functions: each is one statement for its caller, so one transaction, which is on the disk when
-- it has answered. Rows are locked in the order of ids, or skipped where another has them, so that nobody waits
-- for a ring of others.
create schema timerlab;

create table timerlab.clock (name text primary key, at bigint not null, version bigint not null);
create sequence timerlab.token;

-- state: P pending, R ready, F in flight, D done, Z dead, X stopped, Y stopped in flight; until: the lease's end,
-- or since when it is done.
create table timerlab.timer (
    id bigint primary key, generation int not null, state "char" not null, attempts int not null default 0,
    token bigint not null default 0, at bigint not null, until bigint not null default 0, call bytea not null);
create index on timerlab.timer (at) where state = 'P';
create index on timerlab.timer (at) where state = 'R';
create index on timerlab.timer (until) where state = 'F';
create index on timerlab.timer (until) where state = 'D';
create index on timerlab.timer (id) where state = 'Z';

-- Says something of timers, one after the other: `start` or `stop` of this generation, or how an attempt went, `ack`,
-- `nack` or `later`, of which only who holds the token is believed.
create function timerlab.lease_say(what text, attempts_max int, ids bigint[], generations int[], tokens bigint[],
    ats bigint[], calls bytea[]) returns text as $$
declare
    answers text[];
    old timerlab.timer;
    is_same boolean;
    is_held boolean;
    i int;
begin
    for i in select k from generate_subscripts(ids, 1) k order by ids[k] loop
        answers[i] := '0';
        select * into old from timerlab.timer where id = ids[i] for update;
        is_same := old.generation = generations[i];
        is_held := is_same and old.token = tokens[i];
        if what = 'start' and old.id is null then
            answers[i] := '1';
            insert into timerlab.timer (id, generation, state, at, call)
                values (ids[i], generations[i], 'P', ats[i], calls[i]);
        elsif what = 'start' and old.generation < generations[i] then
            answers[i] := case when old.state = 'F' or (old.state in ('P', 'R') and old.attempts > 0) then '2'
                else '1' end;
            update timerlab.timer set generation = generations[i], state = 'P', attempts = 0, token = 0,
                at = ats[i], until = 0, call = calls[i] where id = ids[i];
        elsif what = 'stop' and is_same and old.state in ('P', 'R', 'X') then
            answers[i] := case when old.attempts > 0 then '2' else '1' end;
            update timerlab.timer set state = 'X' where id = ids[i];
        elsif what = 'stop' and is_same and old.state in ('F', 'Y') then
            answers[i] := '2';
            update timerlab.timer set state = 'Y' where id = ids[i];
        elsif what = 'ack' and is_held and old.state in ('F', 'D') then
            answers[i] := '1';
            update timerlab.timer set state = 'D', until = (select c.at from timerlab.clock c where name = 'clk')
                where id = ids[i] and state = 'F';
        elsif what = 'nack' and is_held and old.state = 'F' then
            answers[i] := case when old.attempts >= attempts_max then '2' else '1' end;
            update timerlab.timer set state = case when old.attempts >= attempts_max then 'Z'::"char" else 'P' end,
                at = ats[i] where id = ids[i];
        elsif what = 'later' and is_held and old.state = 'F' then
            answers[i] := '1';
            update timerlab.timer set state = 'P', at = ats[i], attempts = attempts - 1 where id = ids[i];
        end if;
    end loop;
    return array_to_string(answers, '');
end $$ language plpgsql;

-- Claims what is due in a partition. Those who claim all of it race for the clock: who has not seen its last version does
-- nothing.
create function timerlab.lease_claim(now bigint, most int, seen bigint, part int, parts int, out moved bigint,
    out version bigint) as $$
declare
    was timerlab.clock;
begin
    insert into timerlab.clock values ('clk', 0, 1) on conflict do nothing;
    if parts = 1 then
        select * into was from timerlab.clock where name = 'clk' for update;
    else
        select * into was from timerlab.clock where name = 'clk';
    end if;
    version := was.version;
    moved := -1;
    if seen <> 0 and seen <> was.version then
        return;
    end if;
    update timerlab.timer set state = 'R' where id in (
        select id from timerlab.timer where state = 'P' and at <= greatest(now, was.at) and id % parts = part
        order by at limit most for update skip locked);
    get diagnostics moved = row_count;
    if moved > 0 or now - was.at >= 1000 then
        version := was.version + 1;
        update timerlab.clock set at = greatest(now, was.at), version = was.version + 1 where name = 'clk'
            and timerlab.clock.at <= now;
    end if;
end $$ language plpgsql;

-- The lists that are due, for any node to work off.
create table timerlab.list (part int primary key);

create function timerlab.lease_hand_out(now bigint, parts int) returns bigint as $$
    insert into timerlab.clock values ('clk', now, 1)
        on conflict (name) do update set at = now where clock.at < now - 1000;
    insert into timerlab.list select distinct id % parts from timerlab.timer where state = 'P' and at <= now
        order by 1 on conflict do nothing;
    select count(*) from timerlab.list;
$$ language sql;

create function timerlab.lease_load(now bigint, most int, parts int) returns bigint as $$
declare
    which int;
    moved bigint;
begin
    delete from timerlab.list where part = (select part from timerlab.list order by random() limit 1
        for update skip locked) returning part into which;
    if which is null then
        return -1;
    end if;
    update timerlab.timer set state = 'R' where id in (
        select id from timerlab.timer where state = 'P' and at <= now and id % parts = which
        order by at limit most for update skip locked);
    get diagnostics moved = row_count;
    if moved = most then
        insert into timerlab.list values (which) on conflict do nothing;
    end if;
    return moved;
end $$ language plpgsql;

create function timerlab.lease_take(most int, now bigint, lease bigint)
returns table (id bigint, generation int, token bigint, attempt int, at bigint, call bytea) as $$
    update timerlab.timer t set state = 'F', attempts = t.attempts + 1, token = nextval('timerlab.token'),
        until = now + lease
    where t.id in (select r.id from timerlab.timer r where r.state = 'R' order by r.at limit most
        for update skip locked)
    returning t.id, t.generation, t.token, t.attempts, t.at, t.call
$$ language sql;

create function timerlab.lease_reap(now bigint, most int, attempts_max int, keep bigint) returns bigint as $$
declare
    reaped bigint;
begin
    update timerlab.timer set state = case when attempts >= attempts_max then 'Z'::"char" else 'R' end
    where id in (select id from timerlab.timer where state = 'F' and until <= now order by until limit most
        for update skip locked);
    get diagnostics reaped = row_count;
    delete from timerlab.timer where id in (select id from timerlab.timer
        where state = 'D' and until < now - keep limit most for update skip locked);
    return reaped;
end $$ language plpgsql;
