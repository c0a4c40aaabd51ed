// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work for Node.js: objects, text, buffers, compression, workers.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');

function work(seed) {
  const table = new Map();
  for (let i = 0; i < 150000; ++i) {
    const key = 'k' + (i * 7919 + seed) % 5003;
    if (!table.has(key)) table.set(key, []);
    table.get(key).push({ i, text: String(i).repeat(2) });
  }
  const text = JSON.stringify([...table.entries()].sort());
  const packed = zlib.gzipSync(text);
  const buffers = [];
  for (let i = 0; i < 2000; ++i) buffers.push(Buffer.alloc(1 + (i * 997) % 20000, i % 256));
  const hash = crypto.createHash('sha256').update(text).update(Buffer.concat(buffers));
  return hash.update(zlib.gunzipSync(packed)).digest('hex');
}

if (isMainThread) {
  console.log(work(0));
  const results = [];
  for (let w = 0; w < 4; ++w)
    new Worker(__filename, { workerData: w }).on('message', (text) => {
      results.push(text);
      if (results.length === 4) console.log(results.sort().join('\n'));
    });
} else {
  parentPort.postMessage(work(workerData + 1));
}
