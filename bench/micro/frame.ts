import {
  type Answer,
  AnswerReader,
  AnswerWriter,
  createBatchBuffer,
  BatchReader,
  BatchWriter,
} from '../../src/frames/batch-buffer.ts';
import { CUSTOMER, NOW_SECONDS, trafficBodies } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const BATCH = 16;

const ANSWER: Answer = {
  status: 200,
  decision: 1,
  flags: 0,
  score: 31.5,
  rulesLow: 0b1001,
  rulesHigh: 0,
  text:
    '{"request_id":"req_01KAK3K8V00000000000000000","decision":"ALLOW_WATCH","score":31.5,"reasons":["device_http_library"],' +
    '"review_hint":"","session_mode":"full","shadow_routed":false,"latency_ms":',
  record: new Uint8Array(0),
};

export const frame: Stage = {
  name: 'frame',
  add(tasks) {
    const shared = createBatchBuffer();
    const writer = new BatchWriter(shared);
    const reader = new BatchReader(shared);
    const answers = new AnswerWriter(shared);
    const answered = new AnswerReader(shared);
    const bodies = new Ring(trafficBodies(256));
    const start = (n: number): void => {
      if (n % BATCH === 0) {
        writer.reset();
        answers.reset();
      }
    };
    // Operations are requests; a new batch starts after every sixteen.
    tasks.add('request, write and read', {
      perSample: 256,
      run(n) {
        start(n);
        const at = writer.add(bodies.at(n), CUSTOMER, 0, NOW_SECONDS * 1000);
        const { customerNumber, nowMs } = reader.meta(at);
        return reader.body(at).length + customerNumber + nowMs;
      },
      isSane: (sum) => sum > NOW_SECONDS * 1000 + CUSTOMER + 300,
    });
    tasks.add('answer, write and read', {
      perSample: 256,
      run(n) {
        start(n);
        const at = n % BATCH;
        answers.write(at, ANSWER);
        const known = answered.status(at) === 200 && answered.decision(at) === 1 && answered.score(at) === 31.5;
        return known && answered.rulesLow(at) === ANSWER.rulesLow ? answered.text(at) : '';
      },
      isSane: (text) => text === ANSWER.text,
    });
    return {};
  },
};
