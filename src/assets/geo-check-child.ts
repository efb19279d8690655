import { basename } from 'node:path';
import { GEOIP_BYTES_MAX, readShared } from './asset-files.ts';
import { checkOnRequest } from './check-child.ts';
import { checkGeoFile, slotOfName } from './geo-file.ts';

/** Checks the databases whose paths the parent sends, in a process of its own. */
checkOnRequest(async (path) => {
  const name = basename(path);
  const read = await readShared(path, name, GEOIP_BYTES_MAX);
  if (read.kind === 'fault') return { ...read, slot: slotOfName(name) };
  return read.kind === 'moved' ? read : checkGeoFile(read);
});
