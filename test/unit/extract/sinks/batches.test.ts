import { describe, expect, test } from 'vitest';
import { type Batch, makeBatch } from '../../../../src/extract/sinks/batches.ts';
import type { Extraction } from '../../../../src/work/extraction-job.ts';
import type { RecordChunk } from '../../../../src/extract/base/jobs-port.ts';
import { chunksOf, deliveryOf, ENDED_MS, jobOf, JOB_ID, readerOf } from './support.ts';

interface Payload {
  readonly event: string;
  readonly sequence: number;
  readonly final: boolean;
  readonly records: readonly { readonly id: string; readonly _meta: { readonly seq: number } }[];
}

async function allOf(job: Extraction, chunks: readonly RecordChunk[]): Promise<{ batch: Batch; payload: Payload }[]> {
  const made: { batch: Batch; payload: Payload }[] = [];
  const reader = readerOf(chunks);
  for (let place = { sequence: 1, fromSeq: 0 }; ;) {
    const batch = await makeBatch(job, place, reader);
    made.push({ batch, payload: JSON.parse(batch.body.toString()) as Payload });
    if (batch.isFinal) return made;
    place = { sequence: place.sequence + 1, fromSeq: batch.toSeq };
  }
}

const batchesOf = (batchSize: number): Partial<Extraction> => ({
  delivery: deliveryOf({ url: 'https://hooks.example/x', batchSize }),
});

describe('makeBatch for a successful job', () => {
  test('the payloads of a successful job contain its records in batches, then a final one without records', async () => {
    const made = await allOf(jobOf(23, batchesOf(10)), chunksOf([4, 9, 10]));
    expect(made.map(({ payload }) => payload.records.length)).toEqual([10, 10, 3, 0]);
    expect(made.map(({ payload }) => payload.sequence)).toEqual([1, 2, 3, 4]);
    expect(made.map(({ payload }) => payload.final)).toEqual([false, false, false, true]);
    expect(made.map(({ payload }) => payload.event)).toEqual([
      'extraction.records',
      'extraction.records',
      'extraction.records',
      'extraction.completed',
    ]);
    const seqs = made.flatMap(({ payload }) => payload.records.map(({ _meta }) => _meta.seq));
    expect(seqs).toEqual(Array.from({ length: 23 }, (_, at) => at + 1));
  });

  test('a payload has exactly the fields of the contract, in its order', async () => {
    const [first, last] = await allOf(jobOf(1), chunksOf([1]));
    const names = ['event', 'extraction_id', 'request_id', 'sequence', 'final', 'counts', 'records', 'timestamp'];
    expect(Object.keys(first?.payload ?? {})).toEqual(names);
    expect(Object.keys(last?.payload ?? {})).toEqual(names);
    expect(last?.payload).toEqual({
      event: 'extraction.completed',
      extraction_id: JOB_ID,
      request_id: 'req_01J0000000000000000000REQ0',
      sequence: 2,
      final: true,
      counts: { collected: 1, target: 1, pages: 3, errors: 0, duplicates: 2 },
      records: [],
      timestamp: ENDED_MS / 1000,
    });
  });

  test('a job without records has only the final payload', async () => {
    const made = await allOf(jobOf(0), []);
    expect(made.map(({ payload }) => payload.event)).toEqual(['extraction.completed']);
  });

  test('a payload contains JSON whatever the output format is', async () => {
    const job = jobOf(2, { output: { ...jobOf(2).output, format: 'csv' } });
    const [first] = await allOf(job, chunksOf([2]));
    expect(first?.payload.records.map(({ id }) => id)).toEqual(['r0', 'r1']);
  });

  test('a payload is limited to 1 MiB, and a larger single record is sent alone', async () => {
    const chunks = chunksOf([100, 1, 100], (seq) => 'ä'.repeat(seq === 100 ? 900_000 : 10_000));
    const made = await allOf(jobOf(201, batchesOf(1_000)), chunks);
    const large = made.filter(({ batch }) => batch.body.length > 1_048_576);
    expect(large.map(({ payload }) => payload.records.map(({ id }) => id))).toEqual([['r100']]);
    expect(made.flatMap(({ payload }) => payload.records)).toHaveLength(201);
    expect(made.length).toBeLessThanOrEqual(8);
  });

  test('a payload has the same bytes whenever it is built', async () => {
    const chunks = chunksOf([7, 8]);
    const [once, again] = [await allOf(jobOf(15, batchesOf(4)), chunks), await allOf(jobOf(15, batchesOf(4)), chunks)];
    expect(once.map(({ batch }) => batch.body)).toEqual(again.map(({ batch }) => batch.body));
  });
});

test('a failed job has one payload, which reports the failure and contains no records', async () => {
  const failed = jobOf(23, { status: 'failed', failure: { reason: 'timeout', retryable: true } });
  const made = await allOf(failed, chunksOf([23]));
  expect(made.map(({ payload }) => payload)).toMatchObject([
    { event: 'extraction.failed', sequence: 1, final: true, records: [], counts: { collected: 23 } },
  ]);
});

test('makeBatch throws RecordsMissing when the records are gone', async () => {
  await expect(allOf(jobOf(5), chunksOf([3]))).rejects.toThrow('the job has no record 3');
});
