import { HeaderValidation } from '../../src/http/gate.ts';
import { NOW_SECONDS } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

type Field = readonly [name: string, value: string];

export const gate: Stage = {
  name: 'gate',
  add(tasks) {
    const headers = Ring.of(64, (n): readonly Field[] => [
      ['host', 'gatehouse.example'],
      ['content-type', 'application/json'],
      ['content-length', '412'],
      ['x-svc-key', `sk_live_${'A'.repeat(38)}`],
      ['x-svc-ts', String(NOW_SECONDS + n)],
      ['x-svc-rid', `5f0c4a52-1f1f-4b0f-9c8e-${String(n).padStart(12, '0')}`],
      ['x-svc-sig', n.toString(16).padStart(64, '0')],
    ]);
    const usual: readonly Field[] = [
      ['user-agent', 'undici'],
      ['accept', '*/*'],
      ['accept-encoding', 'gzip, deflate'],
      ['connection', 'keep-alive'],
    ];
    const headerGate = new HeaderValidation();
    tasks.add('seven fields', {
      perSample: 256,
      run(n) {
        headerGate.begin();
        for (const [name, value] of headers.at(n)) headerGate.field(name, value);
        return headerGate.end('POST', '/v1/decide', '');
      },
      isSane: (head) => head.formFault === null && head.contentLength === 412 && head.svcSignature.length === 64,
    });
    tasks.add('eleven fields of a usual client', {
      perSample: 256,
      run(n) {
        headerGate.begin();
        for (const [name, value] of headers.at(n)) headerGate.field(name, value);
        for (const [name, value] of usual) headerGate.field(name, value);
        return headerGate.end('POST', '/v1/decide', '');
      },
      isSane: (head) => head.formFault === null && head.contentLength === 412,
    });
    return {};
  },
};
