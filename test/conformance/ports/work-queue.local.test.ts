import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { JournalTail } from '../../../src/decide/journal-tail.ts';
import { openJournal } from '../../../src/decide/journal.ts';
import { workQueueSuite } from './work-queue.ts';

const NOW_SECONDS = 1_800_000_000;

/** The journal as the publisher, and its reader as the consumer. */
workQueueSuite('the journal', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-queue-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return (ackedUpTo) => {
    const ignore = (): void => {};
    const { journal } = openJournal(folder, NOW_SECONDS, ignore, ignore, ackedUpTo);
    const tail = new JournalTail({ ...journal.dueStart(), onAcknowledged: (upTo) => journal.dueStored(upTo) });
    return {
      queue: {
        publish: (sequence, bytes) => journal.stageDue(sequence, bytes),
        receive: (bytesMax) => tail.receive(bytesMax),
        ack: (upTo) => tail.ack(upTo),
        claim: () => tail.claim(),
      },
      commit() {
        journal.commit(NOW_SECONDS);
        tail.announce(journal.dueEnd);
      },
      close: () => journal.close(),
    };
  };
});
