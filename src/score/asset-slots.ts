import { BroadcastChannel } from 'node:worker_threads';
import { GEO_SLOTS, MODEL_SLOTS, cityState } from '../assets/asset-messages.ts';
import type { AssetMessage, AssetSet, AssetSlot } from '../assets/asset-messages.ts';
import { createGeoIp } from './geoip.ts';
import type { GeoIp } from './geoip.ts';
import { useMailLists } from '../risk/signals/email.ts';
import { createModelAsset } from './model.ts';
import type { ModelAsset } from './model.ts';

/** The optional assets of one score worker. */
export interface WorkerAssets {
  readonly geo: GeoIp;
  readonly model: ModelAsset;
  /** Runs beside the model and decides nothing. */
  readonly challenger: ModelAsset;
  /**
   * Returns whether a required asset is unavailable, for `session_mode`. A missing city database counts, missing network and anonymiser
   * databases and a missing model do not. Source: contract, 5.2.
   */
  degraded(): boolean;
  /** Stops listening and releases the model. */
  close(): Promise<void>;
}

/**
 * Opens the assets in `set`, which it then clears, and from then on installs the swaps that the main thread sends. Their messages are
 * handled in a turn of this thread's event loop, so always between two batches. A thread that scores only without a model opens none.
 */
export async function openWorkerAssets(
  set: AssetSet,
  threadId: number,
  openModel: typeof createModelAsset = createModelAsset,
): Promise<WorkerAssets> {
  const channel = new BroadcastChannel(set.channel);
  let open = true;
  const acknowledge = (slot: AssetSlot): void => {
    if (!open) return;
    const isModel = slot === 'model' || slot === 'challenger';
    const { generation, state, version, detail } = isModel ? models[slot].status() : geo.status(slot);
    send({ kind: 'ack', threadId, slot, generation, state, version, detail });
  };
  const send = (message: AssetMessage): void => channel.postMessage(message);

  const geo = createGeoIp(set.geo, acknowledge);
  useMailLists(geo.mailLists());
  const model = await openModel(set.model, () => acknowledge('model'));
  const challenger = await openModel(set.challenger, () => acknowledge('challenger'));
  const models = { model, challenger };

  channel.addEventListener('message', (event: unknown) => {
    const message = (event as { readonly data: AssetMessage }).data;
    if (message.kind === 'geo') {
      geo.swap(message.slot, message.content);
      if (message.slot === 'domains') useMailLists(geo.mailLists());
    } else if (message.kind === 'model') void models[message.slot].swap(message.content);
  });
  // The pool's own port keeps the worker alive, not this channel.
  channel.unref();
  for (const slot of GEO_SLOTS) acknowledge(slot);
  for (const slot of MODEL_SLOTS) acknowledge(slot);
  forget(set);
  send({ kind: 'hello', threadId });

  return {
    geo,
    model,
    challenger,
    degraded: () =>
      cityState(geo.status('city').state, geo.status('country').state) !== 'ok' ||
      geo.status('country').state === 'broken' ||
      geo.status('asn').state === 'broken' ||
      geo.status('anonymiser').state === 'broken' ||
      geo.status('networks').state === 'broken' ||
      model.status().state === 'broken',
    async close() {
      open = false;
      channel.close();
      await Promise.all([model.close(), challenger.close()]);
    },
  };
}

/** Releases the initial databases. workerData lives as long as its worker, so they would otherwise stay in memory after a swap. */
function forget(set: AssetSet): void {
  const none = { kind: 'absent', generation: -1, detail: '' } as const;
  for (const slot of GEO_SLOTS) set.geo[slot] = none;
  for (const slot of MODEL_SLOTS) set[slot] = none;
}
