-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- Work for sqlite3: tables, indexes, joins, text, JSON.
create table t (i integer primary key, k integer, m text);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
  select i, i * 7919 % 1009, hex(i * 2654435761 % 4294967296) || '-' || i from n;
create index t_m on t (m);
create index t_k on t (k, i);
select k, count(*), min(m), max(m), sum(length(m)) from t group by k order by k;
select count(*) from t a join t b on a.i = b.i + 1 where a.k < b.k;
select length(group_concat(m, ',')) from (select m from t order by m);
select m from t where m like 'A%7' order by m limit 200;
update t set m = upper(m) || k where i % 3 = 0;
delete from t where i % 5 = 0;
select count(*), sum(length(m)) from t;
select count(*), sum(json_extract(j, '$.a[1]')) from (select json_object('a', json_array(i, k, m), 'm', m) j from t limit 30000);
vacuum;
pragma integrity_check;
