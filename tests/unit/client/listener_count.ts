// Importing this module replaces the methods of `AbortSignal`, to count listeners.

/** Listeners that were added and not removed. */
const listeners = new Map<AbortSignal, Set<unknown>>();
const { addEventListener, removeEventListener } = AbortSignal.prototype;

Object.assign(AbortSignal.prototype, {
  addEventListener(this: AbortSignal, ...args: Parameters<typeof addEventListener>) {
    listeners.set(this, (listeners.get(this) ?? new Set()).add(args[1]));
    addEventListener.apply(this, args);
  },
  removeEventListener(this: AbortSignal, ...args: Parameters<typeof removeEventListener>) {
    listeners.get(this)?.delete(args[1]);
    removeEventListener.apply(this, args);
  },
});

/** Number of listeners on signals that have not aborted, since an aborted signal calls none again. */
export function countListeners(): number {
  const live = [...listeners].filter(([signal]) => !signal.aborted);
  return live.reduce((sum, [, { size }]) => sum + size, 0);
}
