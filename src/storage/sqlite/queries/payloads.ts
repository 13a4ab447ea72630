export const insertPayload = 'insert into payloads (job, payload) values (?, ?)';

/** Index jobs_id, then by primary key. */
export const payloadOf = `
  select payload from payloads where job = (select row from jobs indexed by jobs_id where id = ?)`;

/** By primary key. */
export const deletePayload = 'delete from payloads where job = ?';
