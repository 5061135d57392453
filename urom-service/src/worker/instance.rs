//! A plugin in a worker: opened, given commands, progressed, closed. The only place that calls a
//! plugin's methods.

use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use tracing::{debug, info, warn};
use urom_abi::DocaError;
use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::extension::{
    self, CallFn, Called, CancelReason, CommandCall, PluginExtension, Words, WorkerServices,
};
use urom_abi::list::ListLink;
use urom_abi::plugin::{WorkerCmdDesc, WorkerCtx, WorkerNotifDesc};
use urom_wire::control::{Failure, Method, PluginAddress, PluginBuild};
use urom_wire::frame::NOTIFICATION_HEADER;

use super::config::PluginItem;
use super::desk::Desk;
use super::domains::Domains;
use super::lookups::PluginCtx;
use super::watch::{Calls, Watch};
use crate::identity::Identity;
use crate::plugin_file::{Methods, PluginFile};
use urom_log::LineBudget;

/// The longest address a plugin may have, in bytes: those of all plugins fit one control message.
/// Real ones have some hundred.
const LONGEST_ADDRESS: usize = 15 << 10;

/// What a worker has for its plugins.
#[derive(Debug)]
pub(crate) struct Supply {
    pub(crate) domains: Arc<Domains>,
    pub(crate) services: WorkerServices,
    pub(crate) desk: Rc<Desk>,
    /// Nothing but DOCA's interface is used.
    pub(crate) plain_doca: bool,
}

/// What a plugin made of a command that it was called with.
#[derive(Debug)]
pub(crate) enum Handled {
    /// It wrote an answer of so many bytes to its place.
    Answered(DocaError, usize),
    /// It will answer by `progress`.
    Pending,
    /// It wants the command by `worker_cmd`.
    Declined,
}

/// A plugin that is open. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Instance {
    /// Its id: a single bit.
    pub(crate) id: u64,
    pub(crate) name: String,
    build: PluginBuild,
    outstanding: usize,
    methods: Methods,
    extension: PluginExtension,
    /// Told of each call before it is made.
    calls: Calls,
    /// Given back when the plugin is closed; the plugin may keep this address.
    ctx: NonNull<WorkerCtx>,
    commands: DescriptorList<WorkerCmdDesc>,
    notifications: DescriptorList<WorkerNotifDesc>,
    /// The last notification that was packed: it is freed after the message with it is on its way.
    spent: Option<NotificationDesc>,
    address: Vec<u8>,
    failed_commands: LineBudget,
    failed_progress: LineBudget,
}

impl Instance {
    pub(crate) fn open(
        item: &PluginItem,
        supply: &Supply,
        watch: &Arc<Watch>,
    ) -> Result<Instance, Failure> {
        let before = Identity::of(&item.path).ok();
        let (name, fingerprint) = item.stated();
        // A plugin that crashes in its constructors, or when it is opened, leaves this line behind.
        info!("loading {}", item.path.display());
        let calls = watch.plugin(&name);
        calls.begin(Method::Load);
        let file = PluginFile::open(&item.path).map_err(|error| {
            let text = format!("plugin `{name}`: {} {error}", item.path.display());
            Failure::new(DocaError::NOT_FOUND, text)
        })?;
        if Identity::of(&item.path).ok() != before {
            let text = format!(
                "plugin `{name}`: {} was replaced while it was loaded; start the worker again",
                item.path.display()
            );
            return Err(Failure::new(DocaError::AGAIN, text));
        }
        Instance::begin(item.id, name, fingerprint, file, supply, calls)
    }

    pub(crate) fn begin(
        id: u64,
        name: String,
        fingerprint: Option<u64>,
        file: PluginFile,
        supply: &Supply,
        calls: Calls,
    ) -> Result<Instance, Failure> {
        let extension = if supply.plain_doca { PluginExtension::NONE } else { file.extension };
        let ctx = PluginCtx::leak(file.iface, name.clone(), supply);
        if let Some(attach) = extension.attach {
            calls.begin(Method::Attach);
            // SAFETY: the plugin's function, with services that stay as long as the context.
            unsafe { attach(ctx.as_ptr(), PluginCtx::services(ctx)) };
        }
        calls.begin(Method::Open);
        // SAFETY: the plugin's method, with a context that stays where it is until after `close`.
        let code = unsafe { (file.methods.open)(ctx.as_ptr()) };
        if let Err(code) = code.check() {
            // A plugin that failed to open is not closed, and nothing of it is used again.
            // SAFETY: from `leak` above, and `open` was the plugin's only chance to learn of it.
            unsafe { PluginCtx::free(ctx) };
            return Err(Failure::new(
                code,
                format!(
                    "plugin `{name}` did not open: its line in the service's log, if it wrote one, says why"
                ),
            ));
        }
        let mut instance = Instance {
            id,
            name,
            build: PluginBuild { version: file.version, fingerprint },
            outstanding: 0,
            methods: file.methods,
            extension,
            calls,
            ctx,
            commands: DescriptorList::new(),
            notifications: DescriptorList::new(),
            spent: None,
            address: Vec::new(),
            failed_commands: LineBudget::default(),
            failed_progress: LineBudget::default(),
        };
        instance.calls.begin(Method::Addr);
        instance.address = instance.ask_address()?;
        instance.calls.over();
        debug!(
            "plugin `{}` is open; its address has {} bytes",
            instance.name,
            instance.address.len()
        );
        Ok(instance)
    }

    /// The two-call protocol: first the length, then the bytes.
    fn ask_address(&self) -> Result<Vec<u8>, Failure> {
        let failed =
            |code| Failure::new(code, format!("plugin `{}` gave no address: {code}", self.name));
        let mut len = 0;
        // SAFETY: the plugin's method, on its open context; a capacity of 0 keeps it from writing.
        let code =
            unsafe { (self.methods.addr)(self.ctx.as_ptr(), std::ptr::null_mut(), &mut len) };
        if code == DocaError::SUCCESS && len == 0 {
            return Ok(Vec::new());
        }
        if code != DocaError::INVALID_VALUE && code != DocaError::SUCCESS {
            return Err(failed(code));
        }
        if len > LONGEST_ADDRESS {
            let text = format!(
                "plugin `{}` says its address has {len} bytes; {LONGEST_ADDRESS} is the most",
                self.name
            );
            return Err(Failure::new(DocaError::TOO_BIG, text));
        }
        let mut bytes = vec![0; len];
        // SAFETY: the plugin's method, on its open context, with `len` bytes to write to.
        let code =
            unsafe { (self.methods.addr)(self.ctx.as_ptr(), bytes.as_mut_ptr().cast(), &mut len) };
        code.check().map_err(failed)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    pub(crate) fn address(&self) -> PluginAddress {
        PluginAddress { name: self.name.clone(), build: self.build, address: self.address.clone() }
    }

    #[inline]
    pub(crate) fn push(&mut self, command: CommandDesc) {
        self.commands.push_back(command);
        self.outstanding += 1;
    }

    #[inline]
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Hands the list over. A plugin stops at the first command that fails, so it is called again
    /// while that moves anything.
    #[inline]
    pub(crate) fn deliver(&mut self) -> Result<(), DocaError> {
        let first = self.first_command();
        self.calls.begin(Method::WorkerCmd);
        // SAFETY: the plugin's method, on its open context, with a well-formed list of descriptors
        // of the C heap.
        let code = unsafe { (self.methods.worker_cmd)(self.ctx.as_ptr(), self.commands.as_raw()) };
        if code == DocaError::SUCCESS { Ok(()) } else { self.deliver_again(first, code) }
    }

    /// The rest of [`deliver`](Instance::deliver) after a failure.
    #[cold]
    fn deliver_again(
        &mut self,
        mut first: *mut ListLink,
        mut code: DocaError,
    ) -> Result<(), DocaError> {
        while code != DocaError::SUCCESS {
            if let Some(more) = self.failed_commands.line() {
                warn!("plugin `{}` failed to begin a command: {code}{more}", self.name);
            }
            if self.commands.is_empty() {
                break;
            }
            if self.first_command() == first {
                return Err(code);
            }
            first = self.first_command();
            // SAFETY: as in `deliver`.
            code = unsafe { (self.methods.worker_cmd)(self.ctx.as_ptr(), self.commands.as_raw()) };
        }
        Ok(())
    }

    pub(crate) fn take_back(&mut self) -> Option<CommandDesc> {
        let command = self.commands.pop_front()?;
        self.outstanding = self.outstanding.saturating_sub(1);
        Some(command)
    }

    /// Whether the next command may be [called](Instance::call): none waits in the list.
    #[inline]
    pub(crate) fn callable(&self) -> Option<CallFn> {
        self.extension.call.filter(|_| self.commands.is_empty())
    }

    /// Runs a command through the plugin, which may write its answer to `place`.
    #[inline]
    pub(crate) fn call(
        &mut self,
        function: CallFn,
        (dest_id, token): (u64, u64),
        command: &[u8],
        place: &mut [u8],
    ) -> Handled {
        let mut call = CommandCall {
            size: size_of::<CommandCall>(),
            dest_id,
            plugin_id: self.id,
            urom_context: token,
            command: command.as_ptr(),
            command_len: command.len(),
            answer: place.as_mut_ptr(),
            answer_room: place.len(),
            answer_len: 0,
            status: DocaError::SUCCESS,
            reserved: 0,
        };
        self.calls.begin(Method::Call);
        // SAFETY: the plugin's function, on its open context, with bytes and a place that are there
        // for the call.
        let called = unsafe { function(self.ctx.as_ptr(), &mut call) };
        self.calls.over();
        match called {
            Called::ANSWERED if call.answer_len <= place.len() => {
                Handled::Answered(call.status, call.answer_len)
            }
            Called::DECLINED => Handled::Declined,
            Called::PENDING => {
                self.outstanding += 1;
                Handled::Pending
            }
            Called(number) => self.miscalled(number, call.answer_len, place.len()),
        }
    }

    #[cold]
    fn miscalled(&self, number: u32, len: usize, room: usize) -> Handled {
        limited!(
            warn,
            "plugin `{}`: `call` gave {number} and an answer of {len} bytes, where {room} fit: its \
             host is told {}",
            self.name,
            DocaError::UNEXPECTED
        );
        Handled::Answered(DocaError::UNEXPECTED, 0)
    }

    /// Tells the plugin that nobody waits for a command any more.
    pub(crate) fn cancel(&self, dest_id: u64, token: u64, reason: CancelReason) {
        let Some(cancel) = self.extension.cancel else { return };
        self.calls.begin(Method::Cancel);
        // SAFETY: the plugin's function, on its open context.
        unsafe { cancel(self.ctx.as_ptr(), dest_id, token, reason) };
        self.calls.over();
    }

    /// Tells the plugin that a connection is over.
    pub(crate) fn host_left(&self, dest_id: u64) {
        let Some(host_left) = self.extension.host_left else { return };
        self.calls.begin(Method::HostLeft);
        // SAFETY: the plugin's function, on its open context.
        unsafe { host_left(self.ctx.as_ptr(), dest_id) };
        self.calls.over();
    }

    /// Asks the plugin what ends the worker's sleep, and adds the descriptors. Whether the plugin
    /// has nothing to do now.
    pub(crate) fn arm(&self, wake: &mut Vec<RawFd>) -> bool {
        let Some(arm) = self.extension.arm else { return true };
        let mut fds = [0; extension::DESCRIPTORS];
        self.calls.begin(Method::Arm);
        // SAFETY: the plugin's function, on its open context, with as much room as it is told of.
        let count = unsafe { arm(self.ctx.as_ptr(), fds.as_mut_ptr(), fds.len()) };
        self.calls.over();
        wake.extend(fds.iter().take(if count == extension::READY { 0 } else { count }));
        count != extension::READY
    }

    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.outstanding > 0
    }

    #[inline]
    pub(crate) fn answered(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    fn first_command(&mut self) -> *mut ListLink {
        // SAFETY: the list's head is initialised.
        unsafe { (*self.commands.as_raw()).next }
    }

    /// Notes that its calls have returned, so that it is not named for what takes long elsewhere.
    #[inline]
    pub(crate) fn rest(&self) {
        self.calls.over();
    }

    #[inline]
    pub(crate) fn progress(&mut self) -> bool {
        self.calls.begin(Method::Progress);
        // SAFETY: the plugin's method, on its open context, with a well-formed list to append to.
        let code =
            unsafe { (self.methods.progress)(self.ctx.as_ptr(), self.notifications.as_raw()) };
        if code != DocaError::SUCCESS && code != DocaError::EMPTY {
            self.progress_failed(code);
        }
        if self.notifications.is_empty() {
            self.spent = None;
            return false;
        }
        true
    }

    #[cold]
    fn progress_failed(&mut self, code: DocaError) {
        if let Some(more) = self.failed_progress.line() {
            warn!("plugin `{}` failed to progress: {code}{more}", self.name);
        }
    }

    #[inline]
    pub(crate) fn finished(&mut self) -> Option<NotificationDesc> {
        self.notifications.pop_front()
    }

    /// Lets the plugin write a notification, its 32-byte header first, into `place`. How many bytes
    /// it wrote behind the header.
    ///
    /// # Errors
    /// The plugin's code, or the numbers when what it says it wrote cannot be: less than the
    /// header, or more than header and notification. The bytes behind those are an earlier
    /// message's, and perhaps another host's.
    #[inline]
    pub(crate) fn pack(
        &mut self,
        notification: NotificationDesc,
        place: &mut [u8],
    ) -> Result<usize, Failure> {
        let mut packed = place.len();
        self.calls.begin(Method::NotifPack);
        let block = notification.into_raw();
        // SAFETY: the block is a whole descriptor.
        let header = unsafe { &raw mut (*block).worker_notif };
        // SAFETY: the plugin's method, with its own notification and as many bytes to write to as
        // `packed` says.
        let code =
            unsafe { (self.methods.notif_pack)(header, &mut packed, place.as_mut_ptr().cast()) };
        // The plugin may have set the length just now.
        // SAFETY: the block is still there.
        let len = unsafe { (*header).len };
        // SAFETY: from `into_raw` above, which gives what was a `NonNull`.
        let block = unsafe { NonNull::new_unchecked(block) };
        // SAFETY: as above; the plugin only looked at it.
        self.spent = Some(unsafe { NotificationDesc::from_raw(block) });
        let payload = packed.wrapping_sub(NOTIFICATION_HEADER);
        // A length below the header's has wrapped round to more than any place has.
        if code == DocaError::SUCCESS
            && packed <= place.len()
            && payload as u64 <= len
            && payload <= packed
        {
            return Ok(payload);
        }
        Err(mispacked(code, packed, len, place.len()))
    }
}

#[cold]
fn mispacked(code: DocaError, packed: usize, len: u64, room: usize) -> Failure {
    if code != DocaError::SUCCESS {
        return Failure::new(code, format!("notif_pack failed: {code}"));
    }
    let text = format!(
        "notif_pack gave a length of {packed} bytes for a notification of {len}: it must be {NOTIFICATION_HEADER} for \
         the header and at most {len} more, {room} in all"
    );
    Failure::new(DocaError::UNEXPECTED, text)
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.calls.begin(Method::Close);
        // SAFETY: the plugin's method, on its open context, once.
        unsafe { (self.methods.close)(self.ctx.as_ptr()) };
        self.calls.over();
        // SAFETY: from `leak` in `open`; after `close` the plugin does not use it.
        unsafe { PluginCtx::free(self.ctx) };
    }
}
