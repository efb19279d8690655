import { useEffect, useState } from 'preact/hooks';

/** Loads a part of a page when it is needed; null until then, and if it cannot be loaded. Unlike `lazy` it does not hold up the page. */
export function useModule<T>(isWanted: boolean, load: () => Promise<T>): T | null {
  const [found, setFound] = useState<{ readonly module: T } | null>(null);
  useEffect(() => {
    if (!isWanted || found !== null) return undefined;
    let isHere = true;
    load().then(
      (module) => {
        if (isHere) setFound({ module });
      },
      () => undefined,
    );
    return () => {
      isHere = false;
    };
  }, [isWanted]);
  return found?.module ?? null;
}
