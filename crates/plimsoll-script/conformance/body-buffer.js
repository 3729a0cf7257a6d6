/* { "does": "ArrayBuffers and views of them go as bytes", "console": ["AB C"] } */
import http from 'k6/http';
export default function () {
  const bytes = new Uint8Array([65, 66, 67]);
  const a = http.post('http://h.test/', bytes.buffer.slice(0, 2)).json('body');
  const b = http.post('http://h.test/', bytes.subarray(2)).json('body');
  console.log(a, b);
}
