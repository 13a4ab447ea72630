export const insertQueue = 'insert or ignore into queues (name) values (?)';

export const queueId = 'select id from queues where name = ?';

export const queueName = 'select name from queues where id = ?';

export const queueNames = 'select name from queues';

export const insertKind = 'insert or ignore into kinds (queue, name, requires) values (?, ?, ?)';

/** By primary key; usually nothing. */
export const kindsAfter = `
  select k.id, k.queue as queueId, q.name as queue, k.name, k.requires
  from kinds k cross join queues q on q.id = k.queue
  where k.id > ? order by k.id`;

/** Index queues_paused, usually empty. */
export const pausedQueueIds = 'select id from queues indexed by queues_paused where paused = 1';

export const pausedQueueNames =
  'select name from queues indexed by queues_paused where paused = 1 order by name';

export const setPaused = 'update queues set paused = ? where id = ? and paused <> ?';
