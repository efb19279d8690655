import type { MessagePort } from 'node:worker_threads';
import { unreachable } from '../../kernel/brand.ts';
import { Calls } from '../../kernel/calls.ts';
import type { EngineOrder, EngineSignal, EngineWrite, RowCall } from './engine-messages.ts';
import type { JobEngine, JobEngineParts } from './job-engine.ts';
import type { ResultDeliveryLog } from '../sinks/result-deliveries.ts';

/** Choice: age of the figures that metrics show. */
const STATE_MS = 500;

/** What the engine gets from the thread that it runs in. */
export type EngineLinks = Pick<JobEngineParts, 'log' | 'deliveryLog' | 'onEnded' | 'onStoreFault'>;

/** Runs the engine for the other end of the port, in the extraction thread. Resolves after `stop`, once the port is closed. */
export async function serveEngine(port: MessagePort, open: (links: EngineLinks) => JobEngine): Promise<void> {
  const signal = (message: EngineSignal): void => port.postMessage(message);
  const calls = new Calls();
  let stateJson = '';
  const postState = (): void => {
    const state = engine.state();
    const { figures, waiting } = state;
    const json = JSON.stringify([
      state.isBroken,
      state.isOutdated,
      waiting.size > 0 ? [...waiting] : null,
      figures,
      [...figures.bytes],
    ]);
    if (json === stateJson) return;
    stateJson = json;
    signal({ kind: 'state', state });
  };
  const engine = open({
    log: logTo(signal),
    deliveryLog: deliveryLogTo(signal, calls),
    onEnded(id) {
      // A caller that waited for the end then finds it in the metrics too.
      postState();
      signal({ kind: 'ended', id });
    },
    onStoreFault: (fault) => signal({ kind: 'fault', fault }),
  });
  const stopped = new Promise<void>((stop) => {
    port.on('message', (order: EngineOrder) => {
      switch (order.kind) {
        case 'call':
          void write(engine, order.write).then((value) => signal({ kind: 'returned', call: order.call, value }));
          break;
        case 'listening':
          engine.listens(order.addresses);
          break;
        case 'nodes':
          engine.setNodes(order.nodes);
          break;
        case 'returned':
          calls.returned(order.call, order.value);
          break;
        case 'failed':
          calls.failed(order.call, new Error(order.detail));
          break;
        case 'stop':
          stop();
          break;
        default:
          unreachable(order);
      }
    });
  });
  await engine.start();
  postState();
  const timer = setInterval(postState, STATE_MS);
  signal({ kind: 'ready' });
  await stopped;
  clearInterval(timer);
  await engine.stop();
  postState();
  // The thread must not end before its last message was received. The other side confirms that by closing the port.
  const heard = new Promise<void>((done) => {
    port.once('close', done);
  });
  signal({ kind: 'stopped' });
  await heard;
}

/** Performs a write. A rejection is a defect of the engine and ends the thread. */
function write(engine: JobEngine, asked: EngineWrite): Promise<unknown> {
  const { writes } = engine;
  switch (asked.kind) {
    case 'create':
      return writes.create(asked.job);
    case 'cancel':
      return writes.cancel(asked.customer, asked.id);
    case 'create_session':
      return writes.sessions.create(asked.session);
    case 'remove_session':
      return writes.sessions.remove(asked.customer, asked.id);
    case 'catch_up':
      return engine.caughtUp();
    default:
      return unreachable(asked);
  }
}

function deliveryLogTo(signal: (message: EngineSignal) => void, calls: Calls): ResultDeliveryLog {
  const row = <T>(asked: RowCall): Promise<T> => calls.make<T>((call) => signal({ kind: 'row', call, row: asked }));
  return {
    find: (customer, id) => row({ kind: 'find', customer, id }),
    add: (added) => row({ kind: 'add', row: added }),
    ended: (customer, id) => row({ kind: 'ended', customer, id }),
    forget: (id) => signal({ kind: 'forget', id }),
  };
}

function logTo(signal: (message: EngineSignal) => void): EngineLinks['log'] {
  const write =
    (level: 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void =>
      signal({ kind: 'log', level, fields, message });
  return { info: write('info'), warn: write('warn'), error: write('error') };
}
