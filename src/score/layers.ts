import { BroadcastChannel } from 'node:worker_threads';
import { GEO_SLOTS, cityState } from '../pools/layer-messages.ts';
import type { LayerMessage, LayerSet, LayerSlot } from '../pools/layer-messages.ts';
import { createGeoIp } from './geoip.ts';
import type { GeoIp } from './geoip.ts';
import { createModelLayer } from './model.ts';
import type { ModelLayer } from './model.ts';

/** The optional layers of one score worker. */
export interface WorkerLayers {
  readonly geo: GeoIp;
  readonly model: ModelLayer;
  /**
   * Whether a layer that should run does not, for `session_mode`. A missing city database counts, missing network and anonymiser
   * databases and a missing model do not. Source: open points, section 2.
   */
  degraded(): boolean;
  /** Stops listening and releases the model. */
  close(): Promise<void>;
}

/**
 * Opens the layers out of workerData, and takes swaps from the main thread from then on: their messages arrive when this thread's
 * event loop turns, which is between two batches.
 */
export async function openWorkerLayers(set: LayerSet, threadId: number): Promise<WorkerLayers> {
  const channel = new BroadcastChannel(set.channel);
  let open = true;
  const acknowledge = (slot: LayerSlot): void => {
    if (!open) return;
    const { generation, state, version, detail } = slot === 'model' ? model.status() : geo.status(slot);
    send({ kind: 'ack', threadId, slot, generation, state, version, detail });
  };
  const send = (message: LayerMessage): void => channel.postMessage(message);

  const geo = createGeoIp(set.geo, acknowledge);
  const model = await createModelLayer(set.model, () => acknowledge('model'));

  channel.addEventListener('message', (event: unknown) => {
    const message = (event as { readonly data: LayerMessage }).data;
    if (message.kind === 'geo') geo.swap(message.slot, message.content);
    else if (message.kind === 'model') void model.swap(message.content);
  });
  // The pool's own port keeps the worker alive, not this channel.
  channel.unref();
  for (const slot of GEO_SLOTS) acknowledge(slot);
  acknowledge('model');
  forget(set);
  send({ kind: 'hello', threadId });

  return {
    geo,
    model,
    degraded: () =>
      cityState(geo.status('city').state, geo.status('country').state) !== 'ok' ||
      geo.status('country').state === 'broken' ||
      geo.status('asn').state === 'broken' ||
      geo.status('anonymiser').state === 'broken' ||
      model.status().state === 'broken',
    async close() {
      open = false;
      channel.close();
      await model.close();
    },
  };
}

/** workerData lives as long as its worker: without this, the first databases would stay in memory after a swap. */
function forget(set: LayerSet): void {
  const none = { kind: 'absent', generation: -1, detail: '' } as const;
  for (const slot of GEO_SLOTS) set.geo[slot] = none;
  set.model = none;
}
