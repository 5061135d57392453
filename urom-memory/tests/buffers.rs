//! Buffers, inventories and pools: capacities, lists, references, and absence of allocations.

use counting_allocator::{CountingAllocator, allocations_of};
use urom_abi::DocaError;
use urom_memory::{Access, Buffer, Error, Exported, Inventory, Mmap, Pool, RemoteMmap};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const WRITABLE: Access = Access::LOCAL_READ_WRITE;
const INVALID: DocaError = DocaError::INVALID_VALUE;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: DocaError, text: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

fn map(len: u8) -> Mmap {
    Mmap::from_vec((0..len).collect(), WRITABLE | Access::PCI_READ_WRITE).unwrap()
}

fn data(buffer: &Buffer) -> Vec<u8> {
    let mut target = [0; 256];
    let len = buffer.gather(&mut target).unwrap();
    target[..len].to_vec()
}

#[test]
fn a_buffer_has_headroom_data_and_tailroom() {
    let (map, inventory) = (map(100), Inventory::new(2).unwrap());
    let buffer = inventory.take(&map, 10..30).unwrap();
    assert_eq!(
        (buffer.memory(), buffer.data()),
        (map.range().slice(10..30), map.range().slice(10..10))
    );
    assert_eq!((buffer.headroom(), buffer.tailroom()), (0, 20));
    buffer.set_data(4..10).unwrap();
    assert_eq!((buffer.headroom(), buffer.data().len, buffer.tailroom()), (4, 6, 10));
    assert_eq!(data(&buffer), [14, 15, 16, 17, 18, 19]);
    buffer.append(&[1, 2]).unwrap();
    assert_eq!(data(&buffer), [14, 15, 16, 17, 18, 19, 1, 2]);
    assert_eq!(map.view().get::<[u8; 2]>(10), Ok([1, 2]));
    buffer.set_data_len(1).unwrap();
    assert_eq!(data(&buffer), [14]);
    buffer.reset();
    assert_eq!((buffer.headroom(), buffer.data().len, buffer.tailroom()), (4, 0, 16));
    let filled = inventory.take_data(&map, 98..).unwrap();
    assert_eq!(data(&filled), [98, 99]);
    assert_eq!(filled.data_view().unwrap().get::<u8>(1), Ok(99));
    assert_eq!(buffer.view().unwrap().len(), 20);
}

#[test]
fn data_stays_within_its_buffer_and_a_buffer_within_its_map() {
    let (map, inventory) = (map(100), Inventory::new(1).unwrap());
    refused(inventory.take(&map, 90..101), INVALID, "11 bytes at 90");
    refused(inventory.take_data(&map, 101..), INVALID, "0 bytes at 101");
    refused(inventory.take(&map, u64::MAX..), INVALID, "do not lie within");
    let buffer = inventory.take(&map, 10..30).unwrap();
    buffer.set_data(5..20).unwrap();
    refused(buffer.set_data(5..21), INVALID, "16 bytes at 5");
    refused(buffer.set_data_len(16), INVALID, "16 bytes at 15");
    refused(buffer.set_data_len(u64::MAX), INVALID, "within the buffer");
    refused(buffer.append(&[0]), DocaError::TOO_BIG, "1 bytes do not fit into 0");
    refused(buffer.gather(&mut [0; 14]), DocaError::TOO_BIG, "15 bytes of data, and the target 14");
    assert_eq!(buffer.data(), map.range().slice(15..30));
}

#[test]
fn an_inventory_has_as_many_buffers_as_it_was_made_with() {
    let (map, inventory) = (map(10), Inventory::new(2).unwrap());
    let first = inventory.take(&map, ..).unwrap();
    let second = inventory.take(&map, ..).unwrap();
    assert_eq!((inventory.len(), inventory.free(), map.buffers()), (2, 0, 2));
    refused(inventory.take(&map, ..), DocaError::NO_MEMORY, "all elements");
    refused(inventory.dup(&first), DocaError::NO_MEMORY, "all elements");
    inventory.expand(1).unwrap();
    assert_eq!((inventory.len(), inventory.free()), (3, 1));
    let third = inventory.take(&map, ..).unwrap();
    drop((first, second, third));
    assert_eq!((inventory.free(), map.buffers(), map.shares()), (3, 0, 0));
    for count in [0, 1 << 32, usize::MAX] {
        assert_eq!(Inventory::new(count).unwrap_err().code(), INVALID);
    }
    refused(inventory.expand(u32::MAX as usize), INVALID, "more elements than 3");
}

#[test]
fn a_buffer_keeps_its_memory_and_its_element() {
    let mut map = map(10);
    let inventory = Inventory::new(1).unwrap();
    let buffer = inventory.take_data(&map, 3..5).unwrap();
    refused(map.try_exclusive_bytes(), DocaError::IN_USE, "has buffers");
    drop((map, inventory));
    assert_eq!(data(&buffer), [3, 4]);
}

#[test]
fn a_copy_of_a_buffer_has_its_own_data_range() {
    let (map, inventory) = (map(10), Inventory::new(2).unwrap());
    let buffer = inventory.take_data(&map, 2..8).unwrap();
    let copy = inventory.dup(&buffer).unwrap();
    copy.set_data(..1).unwrap();
    assert_eq!((data(&buffer).len(), data(&copy)), (6, vec![2]));
}

#[test]
fn the_last_reference_gives_the_element_back() {
    let (map, inventory) = (map(10), Inventory::new(1).unwrap());
    let first = inventory.take(&map, ..).unwrap();
    let second = first.try_clone().unwrap();
    second.append(&[9]).unwrap();
    assert_eq!((first.references(), data(&first)), (2, vec![9]));
    drop(first);
    assert_eq!((inventory.free(), second.references()), (0, 1));
    drop(second);
    assert_eq!(inventory.free(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "it takes minutes there")]
fn there_are_at_most_65535_references() {
    let (map, inventory) = (map(10), Inventory::new(1).unwrap());
    let buffer = inventory.take(&map, ..).unwrap();
    let more: Vec<_> = (1..u16::MAX).map(|_| buffer.try_clone().unwrap()).collect();
    refused(buffer.try_clone(), DocaError::TOO_BIG, "65535");
    assert_eq!(buffer.references(), u16::MAX);
    drop(more);
    assert_eq!(buffer.references(), 1);
}

#[test]
fn a_list_is_one_buffer() {
    let (map, others) = (map(30), Inventory::new(1).unwrap());
    let inventory = Inventory::new(3).unwrap();
    let list = inventory.take_data(&map, ..3).unwrap();
    let middle = others.take_data(&map, 10..12).unwrap();
    middle.chain(inventory.take_data(&map, 20..21).unwrap()).unwrap();
    list.chain(middle).unwrap();
    assert_eq!((list.list_len(), data(&list)), (3, vec![0, 1, 2, 10, 11, 20]));
    assert_eq!((inventory.free(), others.free()), (1, 0));

    list.reset();
    refused(list.append(&[7; 7]), DocaError::TOO_BIG, "into 6 bytes");
    list.append(&[7; 4]).unwrap();
    let lens: Vec<_> = list.list().map(|range| (range.offset, range.len)).collect();
    assert_eq!(lens, [(0, 3), (10, 1), (20, 0)]);
    list.append(&[8; 2]).unwrap();
    assert_eq!(data(&list), [7, 7, 7, 7, 8, 8]);

    drop(list);
    assert_eq!((inventory.free(), others.free(), map.buffers()), (3, 1, 0));
}

#[test]
fn a_list_is_split_at_an_index() {
    let (map, inventory) = (map(30), Inventory::new(3).unwrap());
    let list = inventory.take_data(&map, ..1).unwrap();
    for at in 1..3 {
        list.chain(inventory.take_data(&map, at..=at).unwrap()).unwrap();
    }
    refused(list.unchain(0), INVALID, "a list of 3 buffers cannot be split in front of number 0");
    refused(list.unchain(3), INVALID, "number 3");
    let tail = list.unchain(1).unwrap();
    assert_eq!((data(&list), data(&tail), tail.references()), (vec![0], vec![1, 2], 1));
    drop(list);
    assert_eq!((inventory.free(), data(&tail)), (1, vec![1, 2]));
    let copy = tail.try_clone().unwrap();
    drop(tail);
    assert_eq!(inventory.free(), 1);
    drop(copy);
    assert_eq!(inventory.free(), 3);
}

#[test]
fn a_buffer_with_several_references_cannot_be_chained() {
    let (map, inventory) = (map(30), Inventory::new(2).unwrap());
    let (first, second) = (inventory.take(&map, ..).unwrap(), inventory.take(&map, ..).unwrap());
    let also_second = second.try_clone().unwrap();
    refused(first.chain(second), DocaError::IN_USE, "several references");
    assert_eq!(also_second.references(), 1);
    refused(first.chain(first.try_clone().unwrap()), DocaError::IN_USE, "several references");
    assert_eq!((first.references(), first.list_len()), (1, 1));
    let also_first = first.try_clone().unwrap();
    first.chain(also_second).unwrap();
    assert_eq!(also_first.list_len(), 2);
}

#[test]
fn buffers_of_another_process_have_ranges_and_no_bytes() {
    let map = map(30);
    let remote = RemoteMmap::import(Exported::read(&map.export().unwrap()).unwrap());
    let inventory = Inventory::new(2).unwrap();
    let buffer = inventory.take_data(&remote, 5..9).unwrap();
    assert_eq!(buffer.data(), map.range().slice(5..9));
    let code = DocaError::NOT_PERMITTED;
    refused(buffer.view(), code, "not mapped here");
    refused(buffer.gather(&mut [0; 4]), code, "not mapped here");
    buffer.reset();
    refused(buffer.append(&[1]), code, "not mapped here");
    assert_eq!(buffer.data().len, 0);
}

#[test]
fn nothing_is_appended_to_read_only_memory() {
    let read_only = Mmap::from_vec(vec![5; 4], Access::LOCAL_READ_ONLY).unwrap();
    let (map, inventory) = (map(4), Inventory::new(2).unwrap());
    let list = inventory.take(&map, ..2).unwrap();
    list.chain(inventory.take(&read_only, ..).unwrap()).unwrap();
    refused(list.append(&[9; 3]), DocaError::NOT_PERMITTED, "read-only");
    assert_eq!((data(&list), map.view().get::<u8>(0)), (vec![], Ok(0)));
}

#[test]
fn a_pool_gives_equal_buffers_that_are_apart() {
    let map = Mmap::from_vec(vec![0; 4096], WRITABLE).unwrap();
    let pool = Pool::new(&map, 3, 100, 64).unwrap();
    let mut buffers: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    refused(pool.take(), DocaError::NO_MEMORY, "all elements");
    let mut at: Vec<_> = buffers.iter().map(|buffer| buffer.memory().offset).collect();
    assert!(at.iter().all(|offset| (map.address() + offset).is_multiple_of(64)));
    at.sort_unstable();
    assert!(at.windows(2).all(|two| two[0] + 100 <= two[1]), "{at:?}");
    // A released element is taken next.
    let returned = buffers.remove(1).memory();
    assert_eq!((pool.free(), pool.take().unwrap().memory()), (1, returned));
    assert_eq!(map.buffers(), 2);
}

#[test]
fn a_pool_fits_into_its_map() {
    let map = Mmap::from_vec(vec![0; 1000], WRITABLE).unwrap();
    assert_eq!(Pool::new(&map, 10, 100, 1).unwrap().len(), 10);
    let too_many =
        [(11, 100, 1), (1, 1001, 1), (usize::MAX, 1, 1), (2, u64::MAX, 1), (2, 600, 512)];
    for (count, size, alignment) in too_many {
        refused(Pool::new(&map, count, size, alignment), INVALID, "do not fit into");
    }
    refused(Pool::new(&map, 1, 1, 1 << 63), INVALID, "do not fit into");
    for (size, alignment) in [(0, 1), (1, 0), (1, 3), (1, u64::MAX)] {
        refused(Pool::new(&map, 1, size, alignment), INVALID, "power of two");
    }
    refused(Pool::new(&map, 0, 1, 1), INVALID, "at least one element");
}

#[test]
fn buffers_allocate_nothing() {
    let map = Mmap::from_vec(vec![0; 4096], WRITABLE).unwrap();
    let inventory = Inventory::new(8).unwrap();
    let pool = Pool::new(&map, 8, 64, 8).unwrap();
    let work = || {
        for _ in 0..10 {
            let list = inventory.take(&map, ..10).unwrap();
            for _ in 0..6 {
                list.chain(pool.take().unwrap()).unwrap();
            }
            let copy = inventory.dup(&list).unwrap();
            list.append(&[1; 200]).unwrap();
            let mut target = [0; 200];
            assert_eq!(list.gather(&mut target).unwrap(), 200);
            let tail = list.unchain(3).unwrap();
            let other = tail.try_clone().unwrap();
            list.reset();
            drop((tail, copy, list));
            assert_eq!(other.list().count(), 4);
        }
    };
    assert_eq!(allocations_of(work), 0);
    assert_eq!((inventory.free(), pool.free()), (8, 8));
}
