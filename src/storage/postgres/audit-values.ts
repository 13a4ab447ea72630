import type { NewAuditEntry } from '../audit.js';

/** Of the statement `writeAudit`. */
export function auditValues(entry: NewAuditEntry, result: string, offsetMs: number): (string | number)[] {
  const { id, actor, action, target, source } = entry;
  return [id, actor, action, target, source, result, offsetMs];
}
