import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { PlannedSession } from '../../scripts/traffic/events.ts';
import { eventsOf } from '../../scripts/traffic/week.ts';

/**
 * Writes all events of the sessions as NDJSON: the body of the decide request, with the time to the millisecond, the customer, the outcome
 * and the label `fraud` or `legitimate`. Returns the number of events.
 */
export async function exportWeek(path: string, sessions: readonly PlannedSession[]): Promise<number> {
  const file = createWriteStream(path);
  let events = 0;
  for (const { atMs, body, outcome, session } of eventsOf(sessions)) {
    const { timestamp: _whole, ...rest } = body;
    const row = {
      timestamp: atMs / 1_000,
      customer: session.customer.number,
      ...rest,
      ...(outcome !== null && { outcome }),
      label: session.isAttack ? 'fraud' : 'legitimate',
    };
    events++;
    if (!file.write(`${JSON.stringify(row)}\n`)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
  return events;
}
