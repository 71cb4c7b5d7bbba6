// A client that was there before the gateway was killed, and comes back after it: what the scripts beside this one share.
//
// usage: node SCRIPT URL RESTARTED [TASK...]
// Prints one line of JSON a step: {step, ok, detail}. After `started` the gateway may be killed; the rest follows when the file
// RESTARTED is there. An `ok` of null: the client has no words for the step. Without RESTARTED a script that can tells its story.
import { existsSync } from 'node:fs';

export const [url, restarted, ...tasks] = process.argv.slice(2);
export const text = result => result?.content?.find(part => part.type === 'text')?.text;
export const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));
export class NoWords extends Error {}

let failed = false;
export async function step(name, work, limit = 40_000) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no end within ${limit} ms`)), limit);
  });
  let [ok, detail] = [true, null];
  try {
    detail = await Promise.race([work(), late]);
  } catch (error) {
    ok = error instanceof NoWords ? null : false;
    detail = { code: error?.code, message: String(error?.message ?? error) };
    failed ||= ok === false;
  }
  clearTimeout(timer);
  console.log(JSON.stringify({ step: name, ok, detail }));
  return ok;
}

export function end() {
  process.exit(failed ? 1 : 0);
}

export function same(found, wanted) {
  if (found !== wanted) throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  return { text: found };
}

// client: open() a connection; start(connection, tool, arguments) gives what finds the task again, as JSON; result(connection,
// that) gives the text of its result, with every question answered by a yes; asked() counts the questions; close(connection).
export async function tell(client) {
  let before, job, asking, after;
  const ready = await step('started', async () => {
    before = await client.open();
    job = await client.start(before, 'slow_compute', { seconds: 8, label: 'kept' });
    asking = client.asked && (await client.start(before, 'confirm_delete', { filename: 'kept.txt' }));
    return { job, asking };
  });
  if (!ready) {
    if (before) await Promise.race([Promise.allSettled([client.close(before)]), pause(3000)]);
    process.exit(1);
  }
  for (let looks = 0; !existsSync(restarted); looks++) {
    if (looks > 1200) throw new Error('the gateway was not started again');
    await pause(100);
  }
  await step('kill_same', async () => same(await client.result(before, job), 'computed for 8 s'));
  await step('kill_new', async () => {
    after = await client.open('again');
    return same(await client.result(after, job), 'computed for 8 s');
  });
  await step('kill_input', async () => {
    if (!client.asked) throw new NoWords('no questions');
    const answered = same(await client.result(after, asking), 'kept.txt is deleted.');
    return { ...answered, asked: same(client.asked(), 1) };
  });
  if (client.more) await client.more(after, step);
  await Promise.race([Promise.allSettled([client.close(before), client.close(after)]), pause(3000)]);
  end();
}
