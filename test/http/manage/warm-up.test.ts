import { expect, onTestFinished, test } from 'vitest';
import { type Answer, get } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';

test('/readyz is 503 "starting" until the decide path is warm, and nothing of the warm-up is counted or stored', async () => {
  const server = await startServer({ env: { GATEHOUSE_WARM_UP: '1', GATEHOUSE_VELOCITY_MB: '64' } });
  onTestFinished(() => server.stop().then(() => {}));
  const ready = (): Promise<Answer> => get(server.url, '/readyz');
  expect(await ready()).toMatchObject({ status: 503, json: { status: 'starting' } });
  await expect.poll(ready).toMatchObject({ status: 200 });
  // The line waits for the background thread that touches the velocity table, which has a low priority.
  await expect
    .poll(() => server.stdout(), { timeout: 60_000 })
    .toMatch(/"requests":\d+,"connections":[1-9]\d*,"ms":\d+,"msg":"ready"/);
  const { text: metrics } = await get(server.url, '/metrics');
  expect(metrics).toMatch(/^gatehouse_decide_seconds_count 0$/m);
  expect(metrics).toMatch(/^gatehouse_velocity_records 0$/m);
  expect(metrics).toMatch(/^gatehouse_replay_ids 0$/m);
});
