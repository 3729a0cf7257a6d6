/* { "does": "a file among the members makes the body multipart", "console": ["true true true true"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', { f: http.file('abc', 'n.txt', 'text/plain'), g: 'h' }).json();
  const type = seen.headers['content-type'];
  const mark = type.split('boundary=')[1];
  console.log(type.startsWith('multipart/form-data; boundary='),
    seen.body.includes('name="f"; filename="n.txt"\r\nContent-Type: text/plain\r\n\r\nabc\r\n'),
    seen.body.includes('name="g"\r\n\r\nh\r\n'), seen.body.endsWith(`--${mark}--\r\n`));
}
